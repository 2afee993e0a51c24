//! Crawls of a website on this machine, over real sockets.

mod records;
mod support;

use std::sync::atomic::Ordering;

use conversations::WebsiteState;
use conversations::admin::NewKnowledge;
use conversations::websites::{Discovery, PageOutcome};
use openapi_core::files::Sha256Digest;
use openapi_core::storage::Queue;
use websites::CrawlLimits;

use support::{Answer, PRODUCT, World, by, limits, page};

/// Runs a future on a runtime of one thread.
fn run(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(work);
}

#[test]
fn pages_are_found_by_links_in_the_folder_and_become_documents() {
    run(async {
        let world = World::new().await;
        let site = &world.site;
        site.put(
            "/docs/",
            page("Start", &["a", "/docs/b?utm_source=x#top", "/other", "https://elsewhere.example/docs/"]),
        );
        site.put("/docs/a", page("Alpha", &["./", "b", "missing"]));
        site.put("/docs/b", page("Beta", &[]));
        site.put("/other", page("Other", &[]));
        let id = world.add("/docs/").await;
        assert_eq!(world.report(id).await.0.state, WebsiteState::Waiting);
        assert!(world.crawler().run_once().await.expect("a store"));
        assert_eq!(world.paths().await, ["/docs/", "/docs/a", "/docs/b"]);
        assert!(world.documents().await.iter().all(|document| document.source == Some(id)));
        assert_eq!(world.documents().await[0].title, "Alpha");
        let (website, pages) = world.report(id).await;
        assert_eq!(website.state, WebsiteState::Scheduled);
        assert_eq!(website.body.discovery, Some(Discovery::Links));
        assert_eq!(
            (website.body.counts.found, website.body.counts.read, website.body.counts.not_read),
            (4, 3, 1)
        );
        assert!(pages.iter().filter(|page| page.document.is_some()).count() == 3);
        assert_eq!(world.outcome(id, "/docs/missing").await, (Some(PageOutcome::Status), "404".to_owned()));
        assert_eq!(
            site.paths(),
            ["/robots.txt", "/sitemap.xml", "/docs/", "/docs/a", "/docs/b", "/docs/missing"]
        );
        let product = site.requests.with(|all| all[0].2["user-agent"].clone());
        assert_eq!(product, format!("{PRODUCT}/1"));
    });
}

#[test]
fn sitemaps_name_the_pages() {
    run(async {
        let world = World::new().await;
        let (site, origin) = (&world.site, &world.site.origin);
        site.put(
            "/robots.txt",
            Answer::of(200, format!("Sitemap: {origin}/index.xml\nSitemap: https://elsewhere.example/s.xml")),
        );
        let index = format!(
            "<sitemapindex><sitemap><loc>{origin}/pages.xml</loc></sitemap><sitemap><loc>/index.xml</loc></sitemap></sitemapindex>"
        );
        site.put("/index.xml", Answer::of(200, index));
        let pages = format!(
            "<urlset><url><loc>{origin}/listed</loc></url><url><loc>https://elsewhere.example/x</loc></url></urlset>"
        );
        site.put("/pages.xml", Answer::of(200, pages));
        site.put("/", page("Start", &["/linked"]));
        site.put("/listed", page("Listed", &["/linked"]));
        site.put("/linked", page("Linked", &[]));
        let id = world.read().await;
        assert_eq!(world.paths().await, ["/", "/listed"]);
        assert_eq!(world.report(id).await.0.body.discovery, Some(Discovery::Sitemap));
    });
}

#[test]
fn a_host_is_asked_once_a_second_over_all_websites() {
    run(async {
        // Two crawls that wait at once would move the other clock twice.
        let world = World::in_real_time().await;
        let site = &world.site;
        for folder in ["/a/", "/b/"] {
            site.put(folder, page(folder, &["1", "2", "3"]));
            (1..=3).for_each(|nth| site.put(&format!("{folder}{nth}"), page(&format!("{folder}{nth}"), &[])));
            world.add(folder).await;
        }
        let limits = CrawlLimits { pace_millis: 200, ..limits() };
        let (one, two) = (world.crawler_with(limits, true), world.crawler_with(limits, true));
        let (first, second) = tokio::join!(one.run_once(), two.run_once());
        assert!(first.expect("a store") && second.expect("a store"));
        assert_eq!(world.paths().await.len(), 8);
        let times = site.requests.with(|all| all.iter().map(|(_, at, _)| *at).collect::<Vec<_>>());
        assert_eq!(times.len(), 12);
        // A request may be some milliseconds on its way.
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 150), "{times:?}");
    });
}

#[test]
fn a_website_may_ask_for_longer_pauses() {
    run(async {
        let world = World::new().await;
        let site = &world.site;
        site.put("/", page("Start", &["/a", "/b"]));
        let times = || site.requests.with(|all| all.iter().map(|(_, at, _)| *at).collect::<Vec<_>>());
        world.read().await;
        assert!(
            times().windows(2).all(|pair| (1_000..2_000).contains(&(pair[1] - pair[0]))),
            "{:?}",
            times()
        );
        site.put("/robots.txt", Answer::of(200, "User-agent: *\nCrawl-delay: 4"));
        world.next_day().await;
        assert!(times()[1..].windows(2).all(|pair| pair[1] - pair[0] >= 4_000), "{:?}", times());
    });
}

#[test]
fn what_a_website_forbids_is_not_read() {
    run(async {
        let world = World::new().await;
        let site = &world.site;
        site.put("/robots.txt", Answer::of(200, "User-agent: *\nDisallow: /private"));
        site.put("/", page("Start", &["/private/a", "/meta", "/field", "/other-bot", "/no-links", "/plain"]));
        site.put("/private/a", page("Private", &[]));
        let noindex = |content: &str| {
            Answer::html(format!(
                "<meta name=robots content='{content}'><p>{}<a href=/after>x</a>",
                "text ".repeat(30)
            ))
        };
        site.put("/meta", noindex("noindex"));
        site.put("/field", page("Field", &[]).with("x-robots-tag", "noindex"));
        site.put("/other-bot", page("Other bot", &[]).with("x-robots-tag", "otherbot: noindex"));
        site.put(
            "/no-links",
            page("No links", &["/hidden"]).with("x-robots-tag", &format!("{PRODUCT}: nofollow")),
        );
        site.put("/after", page("Linked by a page that is not shown", &[]));
        site.put("/hidden", page("Hidden", &[]));
        let id = world.read().await;
        assert_eq!(world.paths().await, ["/", "/after", "/no-links", "/other-bot"]);
        assert_eq!(world.outcome(id, "/private/a").await.0, Some(PageOutcome::Robots));
        assert_eq!(world.outcome(id, "/meta").await.0, Some(PageOutcome::Noindex));
        assert_eq!(world.outcome(id, "/field").await.0, Some(PageOutcome::Noindex));
        assert!(!site.paths().iter().any(|path| path.starts_with("/private") || path == "/hidden"));
    });
}

#[test]
fn each_page_that_is_not_read_has_its_reason() {
    run(async {
        let world = World::new().await;
        let site = &world.site;
        let links = [
            "/moved", "/away", "/loop-a", "/gone", "/broken", "/pdf", "/huge", "/sign-in", "/app", "/empty",
            "/binary", "/twin", "/alias", "/zipped", "/cut",
        ];
        site.put("/", page("Start", &links));
        site.put("/moved", Answer::to("/new#x"));
        site.put("/new", page("New", &[]));
        site.put("/away", Answer::to("http://127.0.0.3/"));
        site.put("/loop-a", Answer::to("/loop-b"));
        site.put("/loop-b", Answer::to("/loop-a"));
        site.put("/gone", Answer::of(410, ""));
        site.put("/broken", Answer::of(500, ""));
        site.put("/pdf", Answer::of(200, "%PDF-1.7").with("content-type", "application/pdf"));
        site.put("/huge", Answer::html("x".repeat((5 << 20) + 1)));
        site.put(
            "/sign-in",
            Answer::html("<main>Sign in to see the prices of all our services<input type=password></main>"),
        );
        site.put("/app", Answer::html("<div id=app></div><script src=/app.js></script>"));
        site.put("/empty", Answer::html("<body></body>"));
        site.put(
            "/binary",
            Answer::html([0x01, 0x02, 0x03, 0x81, 0x8d].repeat(100)).with("content-type", "text/html"),
        );
        site.put("/twin", page("Start", &links));
        site.put("/alias", Answer::html("<link rel=canonical href='/canonical?utm_medium=x'>Some text that is long enough for a page of its own"));
        site.put(
            "/canonical",
            Answer::html(
                "<link rel=canonical href='/alias'>Another text that is long enough for a page of its own",
            ),
        );
        site.put("/zipped", page("Zipped", &[]).with("content-encoding", "br"));
        let id = world.read().await;
        let expected = [
            ("/moved", PageOutcome::Redirect, "/new"),
            ("/away", PageOutcome::Redirect, "http://127.0.0.3/"),
            ("/loop-a", PageOutcome::Redirect, "/loop-b"),
            ("/loop-b", PageOutcome::Redirect, "/loop-a"),
            ("/gone", PageOutcome::Status, "410"),
            ("/broken", PageOutcome::Status, "500"),
            ("/pdf", PageOutcome::Type, "application/pdf"),
            ("/huge", PageOutcome::TooLarge, ""),
            ("/sign-in", PageOutcome::Login, ""),
            ("/app", PageOutcome::NoText, "the page gets its text by a script, which is not run"),
            ("/empty", PageOutcome::NoText, "the page is empty"),
            ("/binary", PageOutcome::Charset, ""),
            ("/twin", PageOutcome::Duplicate, "/"),
            ("/alias", PageOutcome::Canonical, "/canonical"),
            ("/zipped", PageOutcome::Type, "compressed by br, which was not asked for"),
            ("/cut", PageOutcome::Status, "404"),
            ("/canonical", PageOutcome::Read, ""),
            ("/new", PageOutcome::Read, ""),
        ];
        for (path, outcome, detail) in expected {
            assert_eq!(world.outcome(id, path).await, (Some(outcome), detail.to_owned()), "{path}");
        }
        assert_eq!(world.paths().await, ["/", "/canonical", "/new"]);
        assert!(site.paths().iter().all(|path| path.starts_with('/')), "no request leaves the host");
    });
}

#[test]
fn encodings_are_those_of_the_pages() {
    run(async {
        let world = World::new().await;
        let site = &world.site;
        let text =
            "Die Öffnungszeiten für Österreich: täglich außer Sonntag, auch während der Ferien geöffnet.";
        let latin: Vec<u8> = format!("<p>{text}").chars().map(|letter| letter as u8).collect();
        let declared: Vec<u8> =
            format!("<meta charset=iso-8859-1><p>One: {text}").chars().map(|letter| letter as u8).collect();
        site.put("/", page("Start", &["/field", "/declared", "/wrong"]));
        site.put("/field", Answer::html(&latin).with("content-type", "text/html; charset=\"ISO-8859-1\""));
        site.put("/declared", Answer::html(declared).with("content-type", "text/html"));
        let wrong: Vec<u8> = format!("<p>Two: {text}").chars().map(|letter| letter as u8).collect();
        site.put("/wrong", Answer::html(wrong).with("content-type", "text/html; charset=utf-8"));
        world.read().await;
        assert_eq!(world.paths().await, ["/", "/declared", "/field", "/wrong"]);
        let storage = world.chat.platform().storage();
        assert_eq!(storage.queue_load(Queue::Crawl).await.expect("a store").scheduled, 1);
        let texts: Vec<u64> = world.documents().await.iter().map(|document| document.characters).collect();
        assert!(texts.iter().filter(|characters| **characters as usize >= text.chars().count()).count() >= 3);
    });
}

#[test]
fn traps_end() {
    run(async {
        let world = World::new().await;
        let site = &world.site;
        site.put("/", page("Start", &["/calendar/2026/1", "/a/", "/real"]));
        site.put("/real", page("Real", &["/deep"]));
        site.put("/deep", page("Deep", &[]));
        site.endless(|path, _| {
            let last: u32 = path.rsplit('/').next()?.parse().unwrap_or(0);
            match path {
                _ if path.starts_with("/calendar/") => {
                    Some(page(&format!("Month {last}"), &[&format!("/calendar/2026/{}", last + 1)]))
                }
                _ if path.starts_with("/a/") => Some(page(path, &["a/"])),
                _ => None,
            }
        });
        let limits = CrawlLimits { per_form: 20, ..limits() };
        let id = world.add("/").await;
        assert!(world.crawler_with(limits, true).run_once().await.expect("a store"));
        let (website, pages) = world.report(id).await;
        assert!(!website.body.is_limited && site.paths().len() < 40, "{} requests", site.paths().len());
        assert_eq!(pages.iter().filter(|page| page.outcome == Some(PageOutcome::Trap)).count(), 2);
        assert!(world.paths().await.contains(&"/deep".to_owned()));
    });
}

#[test]
fn limits_hold_and_are_said() {
    run(async {
        let world = World::new().await;
        let site = &world.site;
        let links: Vec<String> = (0..30)
            .map(|nth| format!("/p{}", char::from(b'a' + nth % 26).to_string().repeat(usize::from(nth) + 1)))
            .collect();
        site.put("/", page("Start", &links.iter().map(String::as_str).collect::<Vec<_>>()));
        links.iter().for_each(|link| site.put(link, page(link, &[])));
        let id = world.add("/").await;
        let few = CrawlLimits { pages: 5, ..limits() };
        assert!(world.crawler_with(few, true).run_once().await.expect("a store"));
        let (website, pages) = world.report(id).await;
        assert!(website.body.is_limited);
        assert_eq!((site.paths().len(), world.paths().await.len()), (2 + 5, 5));
        assert_eq!(pages.iter().filter(|page| page.outcome == Some(PageOutcome::Limit)).count(), 26);
        site.forget_requests();
        world.clock.pass(24 * 3_600_000);
        let small = CrawlLimits { bytes: 1, found: 10, ..limits() };
        assert!(world.crawler_with(small, true).run_once().await.expect("a store"));
        assert!(world.report(id).await.0.body.is_limited);
        assert_eq!(site.paths().len(), 3, "the first page alone has more bytes");
        // What a limited crawl does not reach stays.
        assert_eq!(world.paths().await.len(), 5);
    });
}

#[test]
fn unchanged_pages_are_not_read_again() {
    run(async {
        let world = World::new().await;
        let site = &world.site;
        site.put("/", page("Start", &["/tagged", "/plain", "/changing"]).with("etag", "\"1\""));
        site.put(
            "/tagged",
            page("Tagged", &["/child"])
                .with("etag", "\"7\"")
                .with("last-modified", "Sat, 31 Jan 2026 09:00:00 GMT"),
        );
        site.put("/child", page("Child", &[]));
        site.put("/plain", page("Plain", &[]));
        site.put("/changing", page("Changing", &[]));
        let id = world.read().await;
        let before = world.documents().await;
        // What surrounds the main content says nothing about it.
        let plain = page("Plain", &["/", "/ad?7"]);
        site.put("/plain", plain);
        site.put("/changing", page("Changed", &[]));
        world.next_day().await;
        for path in ["/", "/tagged", "/child", "/plain"] {
            assert_eq!(world.outcome(id, path).await.0, Some(PageOutcome::Unchanged), "{path}");
        }
        assert_eq!(world.outcome(id, "/changing").await.0, Some(PageOutcome::Read));
        let after = world.documents().await;
        let same = after.iter().filter(|document| before.contains(document)).count();
        assert_eq!((after.len(), same), (5, 4));
        let sent = site
            .requests
            .with(|all| all.iter().find(|(path, ..)| path == "/tagged").expect("asked").2.clone());
        assert_eq!(
            (sent["if-none-match"].as_str(), sent["if-modified-since"].as_str()),
            ("\"7\"", "Sat, 31 Jan 2026 09:00:00 GMT")
        );
        // A document that somebody removed is read again, whatever its tag says.
        let tagged = after.iter().find(|document| document.title == "Tagged").expect("a document");
        world.chat.remove_knowledge(&by(), &world.agent, tagged.id).await.expect("removed");
        world.next_day().await;
        assert_eq!(world.outcome(id, "/tagged").await.0, Some(PageOutcome::Read));
    });
}

#[test]
fn a_page_goes_after_two_misses() {
    run(async {
        let world = World::new().await;
        let site = &world.site;
        site.put("/", page("Start", &["/deleted", "/unlinked", "/flaky", "/forbidden"]));
        for path in ["/deleted", "/unlinked", "/flaky", "/forbidden"] {
            site.put(path, page(path, &[]));
        }
        let id = world.read().await;
        assert_eq!(world.paths().await.len(), 5);
        site.put("/", page("Start", &["/deleted", "/flaky", "/forbidden"]));
        site.remove("/deleted");
        site.put("/flaky", Answer::of(503, ""));
        site.put("/robots.txt", Answer::of(200, "User-agent: *\nDisallow: /forbidden"));
        world.next_day().await;
        assert_eq!(world.paths().await.len(), 5, "one miss is not enough");
        world.next_day().await;
        assert_eq!(world.paths().await, ["/", "/flaky", "/unlinked"]);
        for _ in 0..3 {
            world.next_day().await;
        }
        assert_eq!(world.paths().await, ["/", "/flaky", "/unlinked"], "an error is no miss");
        // A page that comes back is there again, and its misses count for nothing.
        site.put("/deleted", page("/deleted", &[]));
        world.next_day().await;
        site.remove("/deleted");
        world.next_day().await;
        assert!(world.paths().await.contains(&"/deleted".to_owned()));
        // In a sitemap, what is not listed any more is gone.
        let listed = format!("<urlset><url><loc>{}/</loc></url></urlset>", site.origin);
        site.put("/sitemap.xml", Answer::of(200, listed));
        world.next_day().await;
        world.next_day().await;
        assert_eq!(world.paths().await, ["/"]);
        assert_eq!(world.report(id).await.1.len(), 1);
    });
}

#[test]
fn a_website_that_is_away_loses_nothing() {
    run(async {
        let world = World::new().await;
        let site = &world.site;
        site.put("/", page("Start", &["/a"]));
        site.put("/a", page("Alpha", &[]));
        let id = world.read().await;
        site.put("/robots.txt", Answer::of(503, ""));
        world.next_day().await;
        let (website, _) = world.report(id).await;
        assert!(website.body.error.expect("an error").contains("/robots.txt was answered with status 503"));
        assert_eq!(site.paths(), ["/robots.txt"], "without robots.txt nothing may be read");
        site.remove("/robots.txt");
        site.dies_after.store(0, Ordering::SeqCst);
        for _ in 0..3 {
            world.next_day().await;
        }
        assert_eq!(world.paths().await, ["/", "/a"]);
        site.dies_after.store(usize::MAX, Ordering::SeqCst);
        world.next_day().await;
        assert_eq!(world.report(id).await.0.body.error, None);
    });
}

#[test]
fn private_addresses_are_refused_and_said() {
    run(async {
        let world = World::new().await;
        world.site.put("/", page("Start", &[]));
        let id = world.add("/").await;
        assert!(world.crawler_with(limits(), false).run_once().await.expect("a store"));
        let (website, _) = world.report(id).await;
        assert!(website.body.error.expect("an error").contains("refused by the rule"));
        assert!(world.site.paths().is_empty());
    });
}

/// Drops a crawler after each number of requests in turn, so that a kill hits every point between two answers.
#[test]
fn a_killed_crawl_goes_on_where_it_was() {
    run(async {
        for kills_after in 1..9 {
            let world = World::new().await;
            let site = &world.site;
            site.put("/", page("Start", &["/a", "/b"]));
            site.put("/a", page("Alpha", &["/c"]));
            site.put("/b", page("Beta", &["/d"]));
            site.put("/c", page("Gamma", &[]));
            site.put("/d", page("Delta", &[]));
            let id = world.add("/").await;
            let killed = world.crawler();
            {
                let mut crawl = std::pin::pin!(killed.run_once());
                while site.paths().len() < kills_after {
                    let poll =
                        std::future::poll_fn(|cx| std::task::Poll::Ready(crawl.as_mut().poll(cx).is_ready()));
                    if poll.await {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            }
            let at_kill = site.paths();
            let has_ended = world.report(id).await.0.state == WebsiteState::Scheduled;
            if !has_ended {
                assert!(
                    !world.crawler().run_once().await.expect("a store"),
                    "the lease of the dead server holds"
                );
                world.clock.pass(60_000);
                assert!(world.crawler().run_once().await.expect("a store"), "it is taken over");
            }
            assert_eq!(world.paths().await, ["/", "/a", "/b", "/c", "/d"], "killed after {kills_after}");
            let (website, _) = world.report(id).await;
            assert_eq!((website.body.crawl, website.body.counts.found), (1, 5));
            // Only the page of the kill is asked for twice.
            let pages = |paths: &[String]| paths.iter().filter(|path| !path.contains('.')).count();
            assert!(pages(&site.paths()) <= 6, "{at_kill:?}, then {:?}", site.paths());
        }
    });
}

#[test]
fn a_stop_hands_the_website_back() {
    run(async {
        let world = World::new().await;
        world.site.put("/", page("Start", &[]));
        let id = world.add("/").await;
        let stopped = world.crawler();
        stopped.stop();
        assert!(stopped.run_once().await.expect("a store"));
        assert_eq!(world.report(id).await.0.state, WebsiteState::Waiting);
        assert!(world.site.paths().is_empty());
        assert!(world.crawler().run_once().await.expect("a store"));
        assert_eq!(world.paths().await, ["/"]);
    });
}

#[test]
fn websites_take_turns() {
    run(async {
        let world = World::new().await;
        let mut ids = Vec::new();
        for folder in ["/a/", "/b/"] {
            world.site.put(folder, page(folder, &["1", "2", "3", "4"]));
            for nth in 1..=4 {
                world.site.put(&format!("{folder}{nth}"), page(&format!("{folder}{nth}"), &[]));
            }
            ids.push(world.add(folder).await);
        }
        let crawler = world.crawler_with(CrawlLimits { turn_millis: 4_000, ..limits() }, true);
        let mut turns = Vec::new();
        while crawler.run_once().await.expect("a store") {
            let pages = world.paths().await;
            turns.push(["/a/", "/b/"].map(|of| pages.iter().filter(|path| path.starts_with(of)).count()));
        }
        assert_eq!(
            turns[..4],
            [[3, 0], [3, 2], [5, 2], [5, 5]],
            "the first turn also asks for robots.txt and the sitemap"
        );
        for id in ids {
            assert_eq!(world.report(id).await.0.state, WebsiteState::Scheduled);
        }
        let mut paths = world.site.paths();
        paths.retain(|path| path.starts_with("/a/") || path.starts_with("/b/"));
        assert_eq!(paths.len(), 10, "no page is asked for twice: {paths:?}");
    });
}

#[test]
fn a_website_goes_with_its_documents_also_while_it_is_read() {
    run(async {
        for removed_after in [3, 4, 6, 100] {
            let world = World::new().await;
            let site = &world.site;
            site.put("/", page("Start", &["/a", "/b", "/c"]));
            ["/a", "/b", "/c"].iter().for_each(|path| site.put(path, page(path, &[])));
            let manual = NewKnowledge {
                file_name: "own.md".to_owned(),
                title: "Own".to_owned(),
                url: None,
                language: None,
                content_type: "text/markdown".to_owned(),
                sha256: Sha256Digest([0; 32]),
                characters: 4,
                pages: None,
                passages: responders::cut(&["An answer."], responders::Format::Markdown).passages,
                questions: Vec::new(),
            };
            world.chat.add_knowledge(&by(), &world.agent, manual).await.expect("added");
            let id = world.add("/").await;
            let crawler = world.crawler();
            let mut crawl = std::pin::pin!(crawler.run_once());
            let mut has_ended = false;
            while site.paths().len() < removed_after && !has_ended {
                has_ended =
                    std::future::poll_fn(|cx| std::task::Poll::Ready(crawl.as_mut().poll(cx).is_ready()))
                        .await;
                tokio::task::yield_now().await;
            }
            world.chat.remove_website(&by(), &world.agent, id).await.expect("removed");
            if !has_ended {
                assert!(crawl.await.expect("a store"));
            }
            assert_eq!(world.documents().await.len(), 1, "removed after {removed_after}");
            assert!(world.chat.website(&world.agent, id).await.is_err());
            assert!(world.chat.page_records(&world.agent, id, None).await.expect("a store").is_empty());
        }
    });
}

#[test]
fn documents_of_others_are_left_alone() {
    run(async {
        let world = World::new().await;
        let site = &world.site;
        site.put("/", page("Start", &["/sub/"]));
        site.put("/sub/", page("Sub", &[]));
        let first = world.read().await;
        let second = world.add("/sub/").await;
        assert!(world.crawler().run_once().await.expect("a store"));
        let (outcome, detail) = world.outcome(second, "/sub/").await;
        assert_eq!(outcome, Some(PageOutcome::Taken));
        assert!(detail.contains("'Sub' has the same address or name"), "{detail}");
        assert!(world.documents().await.iter().all(|document| document.source == Some(first)));
        world.chat.remove_website(&by(), &world.agent, second).await.expect("removed");
        assert_eq!(world.paths().await, ["/", "/sub/"]);
    });
}

#[test]
fn a_website_is_read_again_only_when_it_is_to_be() {
    run(async {
        let world = World::new().await;
        world.site.put("/", page("Start", &[]));
        let url = format!("{}/", world.site.origin);
        let once = world.chat.add_website(&by(), &world.agent, &url, None).await.expect("added").id;
        let waiting = world.chat.sync_website(&by(), &world.agent, once).await.expect("it waits already");
        assert_eq!(waiting.state, WebsiteState::Waiting);
        assert!(
            world.chat.add_website(&by(), &world.agent, &url, None).await.is_err(),
            "it is there already"
        );
        assert!(world.crawler().run_once().await.expect("a store"));
        world.clock.pass(90 * 24 * 3_600_000);
        assert!(!world.crawler().run_once().await.expect("a store"));
        assert_eq!(world.report(once).await.0.state, WebsiteState::Ended);
        world.chat.sync_website(&by(), &world.agent, once).await.expect("queued");
        assert!(world.crawler().run_once().await.expect("a store"));
        assert_eq!(world.report(once).await.0.body.crawl, 2);
        for wrong in ["example.com", "ftp://example.com/", "https://user@example.com/", "javascript:alert(1)"]
        {
            assert!(world.chat.add_website(&by(), &world.agent, wrong, None).await.is_err(), "{wrong}");
        }
    });
}
