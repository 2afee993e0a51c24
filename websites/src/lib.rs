//! Reads the pages of websites, so that agents answer from them.
//!
//! Pure functions read what a website says: [`address`], [`robots`], [`sitemap`], [`html`] and [`page`]. They take any
//! bytes, end soon and use bounded memory. The [`Crawler`] is a future that a host drives: it reads the websites that
//! operators have added ([`conversations::websites`]), one page after the other.

pub mod address;
pub mod html;
pub mod page;
pub mod robots;
pub mod sitemap;
mod worker;

pub use worker::{CrawlLimits, Crawler, CrawlerParts, CurrentChat, PageReader, ReadPage};
