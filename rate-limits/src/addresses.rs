//! Limits per address, for requests without a valid key (contract 8.3).

use std::net::IpAddr;

use values::Timestamp;

use crate::{NetworkWindows, Window};

/// Requests a minute and address (contract 8.3); 0 switches a limit off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressLimits {
    /// Health and description (300).
    pub health: u32,
    /// Downloads (300).
    pub download: u32,
    /// Unknown routes, 405, OPTIONS and requests without credentials, together (60).
    pub unrouted: u32,
    /// Failed authentications and refused addresses (20).
    pub failed_authentication: u32,
}

impl Default for AddressLimits {
    fn default() -> Self {
        AddressLimits { health: 300, download: 300, unrouted: 60, failed_authentication: 20 }
    }
}

/// The kinds of traffic that are limited apart from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressClass {
    /// Health and description.
    Health,
    /// Downloads by signed links.
    Download,
    /// Unknown routes, 405, OPTIONS, requests without credentials.
    Unrouted,
    /// Failed authentication, addresses outside an allowlist.
    FailedAuthentication,
    /// Failed authentication beyond that limit, up to ten times of it: what follows is a flood.
    AuthenticationFlood,
}

/// Counts the requests of addresses by class.
#[derive(Debug)]
pub struct AddressLimiter(NetworkWindows<AddressClass>);

impl AddressLimiter {
    /// A limiter of these limits.
    #[must_use]
    pub fn new(limits: AddressLimits) -> Self {
        let minute = |limit| vec![Window::of_seconds("minute", 60, limit)];
        AddressLimiter(NetworkWindows::new([
            (AddressClass::Health, minute(limits.health)),
            (AddressClass::Download, minute(limits.download)),
            (AddressClass::Unrouted, minute(limits.unrouted)),
            (AddressClass::FailedAuthentication, minute(limits.failed_authentication)),
            (AddressClass::AuthenticationFlood, minute(limits.failed_authentication.saturating_mul(10))),
        ]))
    }

    /// Counts a request.
    ///
    /// # Errors
    /// The seconds to wait when the address or its network has used up its minute.
    pub fn admit(&self, address: IpAddr, class: AddressClass, now: Timestamp) -> Result<(), u64> {
        self.0.admit(address, class, now).map(drop).map_err(|full| full.wait)
    }

    /// Whether an address or its network has used up its minute.
    pub fn is_full(&self, address: IpAddr, class: AddressClass, now: Timestamp) -> bool {
        self.0.peek(address, class, now).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_769_856_000_000 + seconds * 1_000)
    }

    #[test]
    fn each_class_and_address_has_its_own_minute() {
        let limiter = AddressLimiter::new(AddressLimits {
            failed_authentication: 2,
            unrouted: 1,
            health: 0,
            download: 0,
        });
        let one: IpAddr = "192.0.2.1".parse().unwrap();
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
        assert!(limiter.admit(one, AddressClass::FailedAuthentication, at(0)).is_ok());
        assert!(limiter.admit(mapped, AddressClass::FailedAuthentication, at(20)).is_ok());
        assert_eq!(limiter.admit(one, AddressClass::FailedAuthentication, at(30)), Err(30));
        assert!(
            limiter.admit("192.0.2.2".parse().unwrap(), AddressClass::FailedAuthentication, at(30)).is_ok()
        );
        assert!(limiter.admit(one, AddressClass::Unrouted, at(30)).is_ok());
        assert!(limiter.admit(one, AddressClass::FailedAuthentication, at(60)).is_ok());
        assert!(
            (0..1_000).all(|_| limiter.admit(one, AddressClass::Health, at(0)).is_ok()),
            "0 switches off"
        );
        let v6 = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(limiter.admit(v6("2001:db8::1"), AddressClass::Unrouted, at(0)).is_ok());
        assert!(limiter.admit(v6("2001:db8::2"), AddressClass::Unrouted, at(0)).is_err());
        assert!(limiter.admit(v6("2001:db8:0:1::1"), AddressClass::Unrouted, at(0)).is_ok());
    }

    #[test]
    fn a_site_of_ipv6_fails_four_times_as_often_as_an_address() {
        let limiter = AddressLimiter::new(AddressLimits::default());
        let passed = (0..300_u16).filter(|network| {
            let address = IpAddr::from([0x2001, 0xdb8, 1, network << 4, 0, 0, 0, 1]);
            limiter.admit(address, AddressClass::FailedAuthentication, at(0)).is_ok()
        });
        assert_eq!(passed.count(), 80);
    }
}
