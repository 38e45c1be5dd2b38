// Runs a model in TensorFlow Lite for Microcontrollers with an arena of just the right size.
#include <cstdint>
#include <cstring>

#include "model_arena.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_log.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/micro/system_setup.h"
#include "tensorflow/lite/schema/schema_generated.h"

// model_data.S holds the file that `serenity optimize` wrote.
extern "C" const unsigned char model_data[];

namespace {

// The header chooses the size by the kernels of this build (CMSIS_NN, ESP_NN or neither). Kernels that the plan is not
// for have no size, so this line does not compile.
alignas(MODEL_ARENA_ALIGNMENT) uint8_t arena[MODEL_ARENA_BYTES];

// What the board can spare. The build fails if the arena does not fit, instead of the device at its first start.
constexpr unsigned kRamForArena = 256 * 1024;
static_assert(MODEL_ARENA_BYTES <= kRamForArena, "the model does not fit: try `serenity optimize --loops`");

// The operators of the model, as `serenity optimize` names them where it adds some.
TfLiteStatus RegisterOperators(tflite::MicroMutableOpResolver<3>& resolver) {
  TF_LITE_ENSURE_STATUS(resolver.AddConv2D());
  TF_LITE_ENSURE_STATUS(resolver.AddDepthwiseConv2D());
  return resolver.AddConcatenation();
}

}  // namespace

int main() {
  tflite::InitializeTarget();
  tflite::MicroMutableOpResolver<3> resolver;
  if (RegisterOperators(resolver) != kTfLiteOk) {
    return 1;
  }
  tflite::MicroInterpreter interpreter(tflite::GetModel(model_data), resolver, arena, sizeof(arena));
  if (interpreter.AllocateTensors() != kTfLiteOk) {
    MicroPrintf("AllocateTensors failed: is the arena of %u bytes for these kernels?",
                static_cast<unsigned>(sizeof(arena)));
    return 1;
  }
  // Your sensor goes here.
  TfLiteTensor* input = interpreter.input(0);
  std::memset(input->data.raw, MODEL_INPUT_0_ZERO_POINT, input->bytes);
  if (interpreter.Invoke() != kTfLiteOk) {
    return 1;
  }
  MicroPrintf("output[0] = %d", interpreter.output(0)->data.int8[0]);
  MicroPrintf("arena: %u of %u bytes", static_cast<unsigned>(interpreter.arena_used_bytes()),
              static_cast<unsigned>(sizeof(arena)));
  return 0;
}
