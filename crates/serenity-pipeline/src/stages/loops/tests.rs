use super::*;
use crate::optimize;
use serenity_formats::{Format, ReadOptions};
use serenity_zoo::{Precision, build_model};

/// Loops that fail their check are a bug in Serenity: the pipeline reports an error and writes nothing.
#[test]
fn loops_that_fail_their_check_are_an_error() {
    let model = build_model("mobilenet?resolution=32", Precision::Int8).unwrap();
    let bytes = Format::TfLite.create(&model).unwrap();
    let file = Format::TfLite.read(bytes, &ReadOptions::default()).unwrap();
    let input = Input { name: "net".to_owned(), default_model: Format::TfLite.default_model(), file };
    let options = Options::for_input(&input);
    let found = optimize(&input, &options).unwrap();
    let grounds = grounds(&found, std::slice::from_ref(&found.plan.order));
    let loops = Loops::default();
    let looked = look(&grounds, &[options.model.kernels().unwrap()], loops, &options).remove(0);
    let (ground, windows, choice) = looked.iter().find_map(|looked| all_of(looked).next()).unwrap();
    let applied = applied(ground, windows.loops(choice), windows.macs()).unwrap();
    let trade = Trade::new(loops, &found);
    let made = Made::new(&found, ground, applied).unwrap().unwrap();
    let mut candidate = Candidate::new(&found, made, 100_000, &trade, &options).unwrap();
    assert!(candidate.is_right(&found).unwrap());

    // Puts all tensors of the body of the first loop in the same place.
    let offsets = candidate.placed.plan.offsets.as_mut().unwrap();
    offsets[2].iter_mut().for_each(|place| *place = Some(0));
    let error = candidate.is_right(&found).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Bug);
    assert!(matches!(error, Error::CheckFailed { .. }), "{error}");
}
