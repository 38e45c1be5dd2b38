/* The model as bytes in flash. TFLM reads its weights in place, so they must be aligned. */
    .section .rodata
    .balign 16
    .global model_data
model_data:
    .incbin "smaller.tflite"
    .section .note.GNU-stack, "", %progbits
