//! Random models are spelt as the reader of `.tflite` files spells them, so what holds for them holds for models from files.

use crate::identities::random_models::{Recipe, random_model};

#[test]
fn a_model_from_a_file_has_the_same_attributes() {
    for seed in 0..200 {
        let model = random_model(Recipe { seed, is_int8: seed % 2 == 0, for_litert: false });
        let file = serenity_tflite::Model::parse(serenity_tflite::create(&model).unwrap()).unwrap();
        let read = &file.graphs()[0];
        assert_eq!(read.ops().len(), model.graph().ops().len());
        for (made, read) in model.graph().ops().iter().zip(read.ops()) {
            assert_eq!((&made.kind, &made.inputs, &made.outputs), (&read.kind, &read.inputs, &read.outputs));
            for (name, value) in &made.attributes {
                assert_eq!(read.attributes.get(name), Some(value), "`{name}` of {}", made.kind);
            }
        }
    }
}
