//! What an application includes to run models with TFLM in the memories of a device: a planner that answers from a table.

use crate::app::Form;
use crate::planned::Made;
use crate::{Device, TflmModel};
use serenity::header::refuse_other_kernels;
use serenity_runtimes::Kernels;
use std::fmt::Write;

/// The planner. TFLM asks it for one buffer after the other; a question that is not in the table is refused.
const PLANNER: &str = r#"
/* One buffer that TFLM asks for, and its answer. */
struct Request {
  int bytes, first, last;
  uint8_t* place;
};

/* Answers from a table. Refuses another model, another version of TFLM or other kernels, which ask for something else. */
class Planner final : public tflite::MicroMemoryPlanner {
 public:
  Planner(const char* model, const Request* requests, int count, const uint8_t* arena)
      : model_(model), requests_(requests), count_(count), arena_(arena) {}
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  TfLiteStatus Init(unsigned char*, int) override {
    asked_ = 0;
    return kTfLiteOk;
  }

  TfLiteStatus AddBuffer(int bytes, int first, int last) override {
    if (asked_ == count_) {
      MicroPrintf("%s: TFLM asks for more than the %d buffers of the plan; plan for this model and these kernels", model_, count_);
      return kTfLiteError;
    }
    const Request& known = requests_[asked_];
    if (bytes != known.bytes || first != known.first || last != known.last) {
      MicroPrintf("%s: buffer %d is %d bytes in steps %d to %d, not %d bytes in steps %d to %d; plan for this model and these kernels",
                  model_, asked_, bytes, first, last, known.bytes, known.first, known.last);
      return kTfLiteError;
    }
    ++asked_;
    return kTfLiteOk;
  }

  TfLiteStatus AddBuffer(int, int, int, int) override {
    MicroPrintf("%s: the file has a plan of its own; take the model.tflite that was written with this header", model_);
    return kTfLiteError;
  }

  /* Nothing lies in the arena that TFLM knows. */
  size_t GetMaximumMemorySize() override { return 0; }

  int GetBufferCount() override { return asked_; }

  TfLiteStatus GetOffsetForBuffer(int buffer, int* offset) override {
    if (asked_ != count_ || buffer < 0 || buffer >= count_) {
      MicroPrintf("%s: TFLM asks for %d buffers, the plan has %d; plan for this model and these kernels", model_, asked_, count_);
      return kTfLiteError;
    }
    /* TFLM adds it to the beginning of its arena, so that it may be negative, and lead into another memory. */
    const int64_t distance = static_cast<int64_t>(reinterpret_cast<uintptr_t>(requests_[buffer].place)) -
                             static_cast<int64_t>(reinterpret_cast<uintptr_t>(arena_));
    if (distance < INT32_MIN || distance > INT32_MAX) {
      MicroPrintf("%s: buffer %d lies more than 2 GiB from the arena", model_, buffer);
      return kTfLiteError;
    }
    *offset = static_cast<int>(distance);
    return kTfLiteOk;
  }

  bool preserves_all_tensors() const override { return false; }

 private:
  const char* model_;
  const Request* requests_;
  int count_, asked_ = 0;
  const uint8_t* arena_;
};
"#;

impl Device {
    /// The models for TFLM: their index, what TFLM asks for, and the kernels.
    pub(crate) fn tflm(&self) -> impl Iterator<Item = (usize, &TflmModel, Kernels)> {
        let all = self.models.iter().zip(&self.app.models).enumerate();
        all.filter_map(|(index, (planned, said))| match (&planned.made, said.form) {
            (Made::Tflm(tflm), Form::Tflm(kernels)) => Some((index, tflm, kernels)),
            _ => None,
        })
    }

    /// `tflm.h`: for each model an allocator, to be given to its interpreter.
    pub(crate) fn tflm_header(&self, top: &str) -> String {
        let (app, upper) = (&self.app.name, self.app.name.to_uppercase());
        let mut text = format!(
            "/* {app}: its models for TensorFlow Lite for Microcontrollers (TFLM), in C++17.\n * {top}\n *\n \
             * Give {app}::NAME_allocator() to the interpreter of NAME/model.tflite in place of an arena, call AllocateTensors() once,\n \
             * and then {app}::run_NAME(interpreter) in place of interpreter.Invoke(). Nothing is allocated on a heap.\n */\n\
             #ifndef {upper}_TFLM_H\n#define {upper}_TFLM_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n\
             #include \"device.h\"\n#include \"tensorflow/lite/micro/memory_planner/micro_memory_planner.h\"\n\
             #include \"tensorflow/lite/micro/micro_allocator.h\"\n#include \"tensorflow/lite/micro/micro_interpreter.h\"\n\
             #include \"tensorflow/lite/micro/micro_log.h\"\n"
        );
        let mut kernels: Vec<Kernels> = self.tflm().map(|(_, _, kernels)| kernels).collect();
        kernels.dedup();
        for kernels in kernels {
            text.push_str(&refuse_other_kernels(kernels, &upper));
        }
        let _ = write!(text, "\nnamespace {app} {{\n{PLANNER}");
        for (model, tflm, _) in self.tflm() {
            self.allocator(model, tflm, &mut text);
        }
        let _ = writeln!(text, "\n}}  // namespace {app}\n\n#endif");
        text
    }

    fn allocator(&self, model: usize, tflm: &TflmModel, text: &mut String) {
        let (app, name) = (&self.app.name, &self.app.models[model].name);
        let _ = write!(
            text,
            "\n/* For {name}/model.tflite. The tensors lie where memories.h says; what TFLM keeps lies in {app}_{name}_kept. */\n\
             inline tflite::MicroAllocator* {name}_allocator() {{\n  static const Request requests[] = {{\n"
        );
        let places = tflm.places(self.plan.divided[model].as_ref());
        for (request, (part, offset)) in tflm.requests.iter().zip(places) {
            let arena = if part == 0 { String::new() } else { format!("_{}", part + 1) };
            let _ = writeln!(
                text,
                "      {{{}, {}, {}, {name}_arena{arena} + {offset}}},",
                request.bytes, request.first, request.last
            );
        }
        let count = tflm.requests.len();
        let _ = write!(
            text,
            "  }};\n  static Planner planner(\"{name}\", requests, {count}, {app}_{name}_kept);\n  \
             static tflite::MicroAllocator* const allocator =\n      \
             tflite::MicroAllocator::Create({app}_{name}_kept, sizeof {app}_{name}_kept, &planner);\n  \
             return allocator;\n}}\n\n\
             inline TfLiteStatus run_{name}(tflite::MicroInterpreter& interpreter) {{\n  \
             {app}_begin_{name}();\n  const TfLiteStatus status = interpreter.Invoke();\n  {app}_end_{name}();\n  return status;\n}}\n"
        );
    }
}
