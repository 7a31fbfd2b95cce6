//! The rules of `Connection`. Data only.

use super::row::Row;

/// The table.
pub(super) const ROWS: &[Row] = &[];
