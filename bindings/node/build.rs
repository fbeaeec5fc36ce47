//! Tells the linker what an addon needs on each platform.

fn main() {
    napi_build::setup();
}
