//! One custom resource a file.
