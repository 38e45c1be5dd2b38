//! Lossless reading and writing of TensorFlow Lite models.
