//! What of its agent's documents a model is given: all of them where they fit, else what was found, and what it searches for.

use conversations::{ChatTurn, FoundPassage, Question, TokenBudget};
use llm::Client;
use openapi_core::values::KnowledgeId;

use super::prompt::{self, Prompt};
use super::search::{MAX_SEARCHES, Search};
use super::{LlmResponder, RETRIES, reply};

/// Passages that a search of a model finds.
const FOUND_AGAIN: usize = 6;

impl LlmResponder {
    fn search(&self, turn: &ChatTurn) -> Search {
        let has_documents = self.retriever.is_some() && turn.found.has_documents;
        Search { has_documents, ..Search::default() }
    }

    /// The most tokens of all prompts of a turn. The request may be sent twice; with something to search in, once more, and
    /// one of the prompts may be as long as the agent allows. A budget that does not cover that covers less of it.
    pub(super) fn most_sent(&self, client: &Client, turn: &ChatTurn) -> u64 {
        let settings = &turn.agent.settings.llm;
        let search = self.search(turn);
        let tokens = Prompt::of(turn, client.supports_tools(), &search, None).tokens;
        let least = tokens.saturating_mul(1 + u64::from(RETRIES.max_retries));
        if !search.has_documents {
            return least;
        }
        let wanted = tokens.saturating_add(least.max(u64::from(settings.context_tokens)));
        let usage = reply::usage(client.config().price, wanted, u64::from(settings.max_output_tokens));
        let TokenBudget { tokens, cost } = turn.budget;
        let is_left =
            tokens.is_none_or(|left| usage.tokens() <= left) && cost.is_none_or(|left| usage.cost <= left);
        if is_left { wanted } else { least }
    }

    /// What the first request of a turn is made of: all passages of the agent where they fit, else those that were found.
    pub(super) async fn begin(&self, client: &Client, turn: &ChatTurn, most: u64) -> (ChatTurn, Search) {
        let search = self.search(turn);
        match self.whole(client, turn, most).await {
            Some(whole) => (whole, Search { is_whole: true, ..search }),
            None => (turn.clone(), search),
        }
    }

    /// The turn with all passages of its agent, if one prompt has room for them and the reservation for another request.
    async fn whole(&self, client: &Client, turn: &ChatTurn, most: u64) -> Option<ChatTurn> {
        let retriever = self.retriever.as_ref()?;
        let most_bytes =
            usize::try_from(turn.agent.settings.llm.context_tokens).ok()? * prompt::BYTES_PER_TOKEN;
        let passages = match retriever.whole(&turn.agent.id, most_bytes).await {
            Ok(passages) => passages.filter(|passages| !passages.is_empty())?,
            Err(error) => {
                tracing::warn!(agent = %turn.agent.id, %error, "a model gets the passages that were found, not all");
                return None;
            }
        };
        let mut whole = turn.clone();
        whole.found.passages = passages;
        let has_tools = client.supports_tools();
        let search = Search { is_whole: true, ..self.search(turn) };
        let prompt = Prompt::of(&whole, has_tools, &search, None);
        let fits = !prompt.is_cut && prompt.history == turn.history.len();
        let again = Prompt::of(turn, has_tools, &self.search(turn), None).tokens;
        (fits && prompt.tokens + again <= most).then_some(whole)
    }

    /// The prompt of the next request, for which `rest` tokens are left of the reservation.
    pub(super) fn next_prompt(
        &self,
        client: &Client,
        asked: &ChatTurn,
        (turn, search): (&mut ChatTurn, &mut Search),
        rest: u64,
    ) -> Prompt {
        let has_tools = client.supports_tools();
        let delimiter = prompt::delimiter(self.ids.as_ref());
        let of =
            |turn: &ChatTurn, search: &Search| Prompt::of(turn, has_tools, search, Some(delimiter.clone()));
        if search.has_gone_on() {
            search.most_tokens = Some(rest);
        }
        let mut prompt = of(turn, search);
        if search.is_whole && prompt.tokens > rest {
            // The first attempt failed and may be charged.
            (*turn, *search) = (asked.clone(), self.search(asked));
            prompt = of(turn, search);
        }
        if search.is_possible() && prompt.tokens.saturating_mul(2) > rest {
            // Nothing would be left for what is found.
            search.is_exhausted = true;
            prompt = of(turn, search);
        }
        prompt
    }

    /// Searches for what a model asks for, in the documents of the turn's agent. It may not search again where nothing new
    /// is found.
    pub(super) async fn search_again(&self, turn: &mut ChatTurn, search: &mut Search, asked: Vec<String>) {
        let mut has_new = false;
        for text in asked {
            if search.asked.len() == MAX_SEARCHES || search.asked.contains(&text) {
                continue;
            }
            let Some(retriever) = &self.retriever else { break };
            search.asked.push(text.clone());
            let question = Question { text, before: None, locale: turn.visitor.locale.clone() };
            match retriever.retrieve(&turn.agent.id, &question, FOUND_AGAIN).await {
                Ok(found) => has_new |= add(&mut turn.found.passages, found.with_near_pairs().passages),
                Err(error) => tracing::warn!(agent = %turn.agent.id, %error, "a model's search failed"),
            }
        }
        search.is_exhausted |= !has_new;
    }
}

/// Puts what is new before the passages that there are, and returns whether there is any. Where a document has changed
/// since, its earlier passages go: a prompt never has two versions of it.
fn add(passages: &mut Vec<FoundPassage>, mut found: Vec<FoundPassage>) -> bool {
    let position = |passage: &FoundPassage| (passage.document, passage.position);
    let changed: Vec<KnowledgeId> = found
        .iter()
        .filter(|found| {
            passages.iter().any(|known| position(known) == position(found) && known.text != found.text)
        })
        .map(|found| found.document)
        .collect();
    passages.retain(|known| !changed.contains(&known.document));
    found.retain(|found| passages.iter().all(|known| position(known) != position(found)));
    let has_new = !found.is_empty();
    passages.splice(0..0, found);
    has_new
}
