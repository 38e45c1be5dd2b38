//! What an application includes to run models with TFLM in the memories of a device: a planner that answers from a table.

use crate::app::Form;
use crate::in_place::Port;
use crate::planned::Made;
use crate::{Device, Kept, TflmModel};
use serenity::header::refuse_other_kernels;
use serenity_runtimes::{Kernels, TflmArena};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The planner. TFLM asks it for one buffer after the other; a question that is not in the table is refused.
const PLANNER: &str = r#"
/* One buffer that TFLM asks for, and its answer. */
struct Request {
  int bytes, first, last;
  uint8_t* place;
};

/* Answers from the table of the model whose interpreter allocates its tensors. Refuses another model, another version of TFLM or other
 * kernels, which ask for something else. */
class Planner final : public tflite::MicroMemoryPlanner {
 public:
  explicit Planner(const uint8_t* arena) : arena_(arena) {}
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  TfLiteStatus Allocate(const char* model, const Request* requests, int count, tflite::MicroInterpreter& interpreter) {
    model_ = model;
    requests_ = requests;
    count_ = count;
    asked_ = 0;
    TfLiteStatus status = interpreter.AllocateTensors();
    if (status == kTfLiteOk && asked_ != count) {
      MicroPrintf("%s: its interpreter has another allocator; give it %s_allocator()", model, model);
      status = kTfLiteError;
    }
    requests_ = nullptr;
    return status;
  }

  TfLiteStatus Init(unsigned char*, int) override {
    asked_ = 0;
    return kTfLiteOk;
  }

  TfLiteStatus AddBuffer(int bytes, int first, int last) override {
    if (!requests_) {
      MicroPrintf("call allocate_NAME(interpreter) in place of interpreter.AllocateTensors()");
      return kTfLiteError;
    }
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
    if (!requests_ || asked_ != count_ || buffer < 0 || buffer >= count_) {
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
  const uint8_t* const arena_;
  const char* model_ = "";
  const Request* requests_ = nullptr;
  int count_ = 0, asked_ = 0;
};
"#;

/// An allocator of TFLM, and the models whose interpreters share it.
pub(crate) struct Allocator {
    /// The name of the first of them, after which it is named.
    pub(crate) name: String,
    pub(crate) models: Vec<usize>,
    pub(crate) memory: usize,
    pub(crate) bytes: TflmArena,
}

impl Device {
    /// The models for TFLM: their index, what TFLM asks for, and the kernels.
    pub(crate) fn tflm(&self) -> impl Iterator<Item = (usize, &TflmModel, Kernels)> {
        let all = self.models.iter().zip(&self.app.models).enumerate();
        all.filter_map(|(index, (planned, said))| match (&planned.made, said.form) {
            (Made::Tflm(tflm), Form::Tflm(kernels)) => Some((index, tflm, kernels)),
            _ => None,
        })
    }

    /// `tflm.h`: allocators, to be given to interpreters, and the calls of each model.
    pub(crate) fn tflm_header(&self, top: &str) -> String {
        let (app, upper) = (&self.app.name, self.app.name.to_uppercase());
        let mut text = format!(
            "/* {app}: its models for TensorFlow Lite for Microcontrollers (TFLM), in C++17.\n * {top}\n *\n \
             * Give {app}::NAME_allocator() to the interpreter of NAME/model.tflite in place of an arena. Call {app}::allocate_NAME(interpreter)\n \
             * once, in place of interpreter.AllocateTensors(), while no model runs; and then {app}::run_NAME(interpreter) in place of\n \
             * interpreter.Invoke(). Nothing is allocated on a heap, and nothing is freed: make each interpreter once.\n \
             * If allocate_NAME fails, TFLM leaves the allocator as it is in the middle of it: no other model of this allocator can follow.\n */\n\
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
        for allocator in self.allocators() {
            self.planner(&allocator, &mut text);
            for (model, tflm, _) in self.tflm().filter(|(model, ..)| allocator.models.contains(model)) {
                self.calls(model, tflm, &allocator.name, &mut text);
            }
        }
        let _ = writeln!(text, "\n}}  // namespace {app}\n\n#endif");
        text
    }

    /// The allocators of TFLM, each named after its first model.
    pub(crate) fn allocators(&self) -> Vec<Allocator> {
        let is_tflm = |kept: &Kept| {
            kept.models.iter().any(|&model| matches!(self.app.models[model].form, Form::Tflm(_)))
        };
        let named = |Kept { models, memory, bytes }| {
            let name = self.app.models[models[0]].name.clone();
            Allocator { name, models, memory, bytes }
        };
        self.kept().into_iter().filter(is_tflm).map(named).collect()
    }

    /// Macros for inputs and outputs of TFLM's models that go from one model to another.
    pub(crate) fn tflm_ports(&self, text: &mut String) {
        let feeds = || {
            self.app
                .models
                .iter()
                .enumerate()
                .flat_map(|(fed, said)| said.feeds.iter().map(move |feed| (fed, feed)))
        };
        let ports: BTreeSet<(usize, bool, usize)> = feeds()
            .flat_map(|(fed, feed)| [(feed.from, false, feed.output), (fed, true, feed.input)])
            .collect();
        for (model, is_input, index) in ports {
            let port = Port { model, is_input, index };
            let Some((memory, offset)) = port.place(&self.plan, &self.models) else {
                continue;
            };
            let bytes = self.models[model].port(is_input, index).unwrap_or_default();
            let (name, end) = (&self.app.models[model].name, if is_input { "input" } else { "output" });
            let (upper, upper_end) = (name.to_uppercase(), end.to_uppercase());
            let _ = write!(
                text,
                "\n#define {name}_{end}_{index} ({}_{} + {offset})\n#define {upper}_{upper_end}_{index}_BYTES {bytes}\n",
                self.app.name, self.app.memories[memory].name
            );
        }
    }

    fn planner(&self, Allocator { name, models, .. }: &Allocator, text: &mut String) {
        let (app, models) = (&self.app.name, self.names(models));
        let _ = write!(
            text,
            "\n/* The planner and the allocator of {models}. What TFLM keeps for them lies in {app}_{name}_kept. */\n\
             inline Planner& {name}_planner() {{\n  static Planner planner({app}_{name}_kept);\n  return planner;\n}}\n\n\
             inline tflite::MicroAllocator* {name}_allocator() {{\n  static tflite::MicroAllocator* const allocator =\n      \
             tflite::MicroAllocator::Create({app}_{name}_kept, sizeof {app}_{name}_kept, &{name}_planner());\n  \
             return allocator;\n}}\n"
        );
    }

    /// What an application calls for a model; `first` is the model after which its allocator is named.
    fn calls(&self, model: usize, tflm: &TflmModel, first: &str, text: &mut String) {
        let (app, name) = (&self.app.name, &self.app.models[model].name);
        let _ = writeln!(text, "\n/* For {name}/model.tflite. The tensors lie where memories.h says. */");
        if name != first {
            let _ = writeln!(
                text,
                "inline tflite::MicroAllocator* {name}_allocator() {{ return {first}_allocator(); }}\n"
            );
        }
        let _ = writeln!(
            text,
            "inline TfLiteStatus allocate_{name}(tflite::MicroInterpreter& interpreter) {{\n  static const Request requests[] = {{"
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
            "  }};\n  return {first}_planner().Allocate(\"{name}\", requests, {count}, interpreter);\n}}\n\n\
             inline TfLiteStatus run_{name}(tflite::MicroInterpreter& interpreter) {{\n  \
             {app}_begin_{name}();\n  const TfLiteStatus status = interpreter.Invoke();\n  {app}_end_{name}();\n  return status;\n}}\n"
        );
    }
}
