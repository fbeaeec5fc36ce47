//! What needs a real mount. `cargo xtask test` leaves these out, and says so, where nothing can be mounted.

mod coherence;
mod crowd;
mod ending;
mod matrix;
mod naming;
mod one_way;
mod power_loss;
mod programs;
mod reading;
mod writing;
