//! Placement of buffers with lifetimes in one arena: the planners of the runtimes, and an exact one.
