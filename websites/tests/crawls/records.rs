//! What a crawl leaves in the store besides documents.

use std::task::Poll;

use conversations::websites::PageCounts;
use openapi_core::storage::RecordKind;
use websites::CrawlLimits;

use super::run;
use super::support::{World, by, limits, page};

/// A website of one page with links to that many more.
fn site_of(world: &World, pages: usize) {
    let links: Vec<String> = (0..pages).map(|nth| format!("/{}", "x".repeat(nth + 1))).collect();
    world.site.put("/", page("Start", &links.iter().map(String::as_str).collect::<Vec<_>>()));
    links.iter().for_each(|link| world.site.put(link, page(link, &[])));
}

/// The counts in the list of websites.
async fn listed(world: &World) -> PageCounts {
    world.chat.websites(&world.agent).await.expect("a list")[0].body.counts
}

/// The pages that a crawl has come to.
fn done(counts: PageCounts) -> u64 {
    counts.read + counts.unchanged
}

#[test]
fn the_list_has_the_counts_of_a_crawl_without_its_pages() {
    run(async {
        let world = World::new().await;
        site_of(&world, 9);
        let id = world.add("/").await;
        let turns = CrawlLimits { turn_millis: 5_000, ..limits() };
        assert!(world.crawler_with(turns, true).run_once().await.expect("a store"));
        let (website, _) = world.report(id).await;
        let counts = listed(&world).await;
        assert!(website.body.is_running && counts.read > 0 && counts.waiting > 0, "{counts:?}");
        assert_eq!((counts, counts.found), (website.body.counts, 10));
        world.chat.remove_page_records(&world.agent, id).await.expect("removed");
        assert_eq!(listed(&world).await, counts);
    });
}

#[test]
fn the_list_is_a_few_seconds_late_while_a_crawl_runs() {
    run(async {
        let world = World::new().await;
        site_of(&world, 40);
        let id = world.add("/").await;
        let crawler = world.crawler();
        for day in 0..2 {
            let mut crawl = std::pin::pin!(crawler.run_once());
            let mut seen = 0;
            while !std::future::poll_fn(|cx| Poll::Ready(crawl.as_mut().poll(cx).is_ready())).await {
                let (website, _) = world.report(id).await;
                if website.body.crawl == day + 1 {
                    let (now, listed) = (done(website.body.counts), done(listed(&world).await));
                    // A page a second, and one that is on its way. Nothing is of the crawl before.
                    assert!(listed <= now && now - listed <= 6, "{listed} in the list of {now}");
                    seen = seen.max(listed);
                }
                tokio::task::yield_now().await;
            }
            assert!(seen > 30, "{seen}");
            assert_eq!(done(listed(&world).await), 41);
            world.clock.pass(24 * 3_600_000);
        }
    });
}

#[test]
fn hosts_are_forgotten_when_nobody_asks_them() {
    run(async {
        let world = World::new().await;
        let hosts = async || {
            let storage = world.chat.platform().storage();
            storage.all_records(RecordKind::CrawledHost, None, 100).await.expect("a store").len()
        };
        site_of(&world, 1);
        let id = world.read().await;
        assert_eq!(hosts().await, 1);
        let crawler = world.crawler();
        world.clock.pass(60_000);
        assert!(!crawler.run_once().await.expect("a store"));
        assert_eq!(hosts().await, 1, "a pause may not have ended");
        world.clock.pass(3_600_000);
        assert!(!crawler.run_once().await.expect("a store"));
        assert_eq!(hosts().await, 0);
        // A host that is asked again is paced again.
        world.next_day().await;
        let times = world.site.requests.with(|all| all.iter().map(|(_, at, _)| *at).collect::<Vec<_>>());
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 1_000), "{times:?}");
        assert_eq!(hosts().await, 1);
        world.chat.remove_website(&by(), &world.agent, id).await.expect("removed");
        world.clock.pass(3_600_000);
        assert!(!crawler.run_once().await.expect("a store"));
        assert_eq!(hosts().await, 0);
    });
}
