//! Which addresses a name may lead to.
//!
//! A listed name says who is meant, not where: whoever answers for the name could say "this machine" or "the service
//! that hands out the credentials of this machine". So only public addresses count, and those that the list names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use paddock_core::{AllowedHost, Host};

/// The one public address at which a cloud answers its own machines.
const PLATFORM: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// Those of the addresses of `host` that a connection may go to.
pub(super) fn usable(allowed: &[AllowedHost], host: &Host, found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let this_machine = *host == Host::Name("localhost".to_owned());
    let listed = |to: &SocketAddr| {
        let address = Host::Address(to.ip().to_canonical());
        allowed.iter().any(|entry| entry.admits(&address, to.port()))
    };
    let may = |to: &SocketAddr| is_public(to.ip()) || (this_machine && to.ip().is_loopback()) || listed(to);
    found.into_iter().filter(may).collect()
}

/// Is it an address of the open network?
pub(super) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        // This network; shared by providers; for protocols; for measurements; not given out.
        [0, ..] | [100, 64..=127, ..] | [192, 0, 0, _] | [198, 18..=19, ..] | [240..=255, ..] => true,
        _ => address == PLATFORM,
    };
    let local = address.is_loopback() || address.is_private() || address.is_link_local();
    !(special || local || address.is_multicast() || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // An IPv4 address behind a translator, or as a network of its own.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        // Tunnels that hide where they lead; examples.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_open_network_is_public() {
        for public in
            ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::1.1.1.1", "2002:101:101::1", "100.128.0.1"]
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for inside in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2001::1",
            "2001:db8::1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
        ] {
            assert!(!is_public(inside.parse().unwrap()), "{inside}");
        }
    }

    #[test]
    fn what_is_not_public_counts_only_where_it_is_listed() {
        let allowed: Vec<AllowedHost> =
            ["inside.example", "10.0.0.7"].map(|text| AllowedHost::parse(text).unwrap()).into();
        let found = ["10.0.0.7:443", "10.0.0.8:443", "127.0.0.1:443", "1.1.1.1:443"].map(|text| text.parse().unwrap());
        let named = |name| usable(&allowed, &Host::parse(name).unwrap(), found.to_vec());
        let text = |addresses: Vec<SocketAddr>| addresses.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(text(named("inside.example")), ["10.0.0.7:443", "1.1.1.1:443"]);
        assert_eq!(text(named("localhost")), ["10.0.0.7:443", "127.0.0.1:443", "1.1.1.1:443"]);
    }
}
