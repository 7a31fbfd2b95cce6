//! Prints the page at a URL as any program does that leaves its proxy to reqwest, or why there is none.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("a URL is missing")?;
    print!("{}", reqwest::blocking::get(url)?.text()?);
    Ok(())
}
