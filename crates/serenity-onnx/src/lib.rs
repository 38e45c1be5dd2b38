//! Lossless reading and writing of ONNX models.
