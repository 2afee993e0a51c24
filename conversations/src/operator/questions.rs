//! The questions that an agent could not answer, or was not sure of.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use openapi_core::admin::AdminError;
use openapi_core::values::{AgentId, ConversationId, Timestamp};

use super::{BATCH, pairs};
use crate::admin::{NearestPassage, OpenQuestionGroup, OpenQuestions, OpenQuestionsQuery};
use crate::conversations::Conversations;
use crate::storage::{ConversationFilter, ConversationQuery, MessageQuery, MessageSelector};
use crate::{AskedText, Conversation, Message, Outcome, Question, RetrieveError, Speaker, VisitorId};

/// The most questions that are read: the newest ones. Their vectors take a fiftieth of a second each.
const MAX_QUESTIONS: usize = 500;
/// The most conversations that are read, those with the newest messages first.
const MAX_CONVERSATIONS: u64 = 2_000;
/// The most messages of a conversation that are read: the last ones.
const MAX_MESSAGES: u32 = 200;
/// The most questions of a group that are shown next to the most central one.
const MAX_OTHERS: usize = 3;
/// The most characters of a question that are shown.
const MAX_SHOWN: usize = 300;

/// A question without a sure answer.
struct Open {
    text: String,
    asked: AskedText,
    outcome: Outcome,
    at: Timestamp,
    conversation: ConversationId,
    visitor: VisitorId,
}

/// What the agent has for a question today.
enum Nearest {
    /// The answer of a question-and-answer pair.
    Taught,
    /// The passage that is nearest, if it has any.
    Passage(Option<NearestPassage>),
}

impl Conversations {
    /// The questions of visitors that the agent could not answer, or was not sure of, grouped by what they ask. It reads
    /// the newest 500 questions of at most 2,000 conversations, and of each conversation the last 200 messages. Questions
    /// that a question-and-answer pair answers by now are left out. Erased
    /// conversations have left nothing, and what operators try is stored nowhere.
    ///
    /// # Errors
    /// As the other methods of the operator's side.
    pub async fn open_questions(
        &self,
        agent: &AgentId,
        query: &OpenQuestionsQuery,
    ) -> Result<OpenQuestions, AdminError> {
        self.platform.living_agent(agent).await?;
        let (settings, _) = self.stored_settings(agent).await?;
        let (mut questions, is_partial) = self.read_open(agent, query).await?;
        // What the agent was taught since is answered.
        let pairs = self.storage.knowledge(agent).await?;
        let taught: HashSet<String> =
            pairs.iter().flat_map(|pair| &pair.questions).map(|question| pairs::plain(question)).collect();
        questions.retain(|question| !taught.contains(&question.asked.plain));
        // Equal texts are compared once.
        let mut texts: Vec<AskedText> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut of_text: Vec<Vec<&Open>> = Vec::new();
        for question in &questions {
            let at = *known.entry(&question.asked.plain).or_insert(of_text.len());
            match of_text.get_mut(at) {
                Some(same) => {
                    texts[at].times += 1;
                    same.push(question);
                }
                None => {
                    texts.push(question.asked.clone());
                    of_text.push(vec![question]);
                }
            }
        }
        let found = self.ports.group(&texts).await;
        let mut groups: Vec<(OpenQuestionGroup, &Open)> = found
            .groups
            .iter()
            .filter_map(|members| {
                let texts: Vec<&[&Open]> =
                    members.iter().filter_map(|at| of_text.get(*at)).map(Vec::as_slice).collect();
                let languages = members.iter().filter_map(|at| found.languages.get(*at)).cloned().collect();
                group(&texts, languages)
            })
            .collect();
        groups.sort_by_key(|(group, _)| Reverse((group.count(), group.last_asked_at, group.conversation)));
        let mut report = OpenQuestions {
            groups: Vec::new(),
            total: groups.len(),
            questions: questions.len(),
            is_partial,
            is_by_meaning: found.is_by_meaning,
        };
        for (mut group, central) in groups {
            if report.groups.len() == query.groups {
                break;
            }
            match self.nearest(agent, central, settings.chat.min_coverage).await? {
                Nearest::Taught => {
                    report.total -= 1;
                    report.questions = report.questions.saturating_sub(group.count() as usize);
                }
                Nearest::Passage(nearest) => {
                    group.nearest = nearest;
                    report.groups.push(group);
                }
            }
        }
        Ok(report)
    }

    /// The newest questions, the newest first, and whether there may be older ones.
    async fn read_open(
        &self,
        agent: &AgentId,
        query: &OpenQuestionsQuery,
    ) -> Result<(Vec<Open>, bool), AdminError> {
        let filter = ConversationFilter { since: Some(query.since), ..ConversationFilter::default() };
        let mut found: Vec<Open> = Vec::new();
        let (mut offset, mut is_partial) = (0, false);
        // A message that arrives meanwhile moves its conversation to the front, and the others back.
        let mut seen = HashSet::new();
        'pages: loop {
            let page = ConversationQuery { filter: filter.clone(), offset, limit: BATCH };
            let page = self.storage.conversations(agent, &page).await?.conversations;
            let is_last = page.len() < BATCH as usize;
            offset += page.len() as u64;
            for conversation in page {
                // What follows is older than the questions that there are already.
                let oldest = found.get(MAX_QUESTIONS - 1).map(|question| question.at);
                let is_full = oldest.is_some_and(|oldest| oldest >= conversation.last_message_at);
                if is_full || seen.len() as u64 >= MAX_CONVERSATIONS {
                    is_partial = true;
                    break 'pages;
                }
                if seen.insert(conversation.id) {
                    is_partial |= conversation.message_count > u64::from(MAX_MESSAGES);
                    found.extend(self.open_in(agent, &conversation, query).await?);
                    found.sort_by_key(|question| Reverse(question.at));
                    is_partial |= found.len() > MAX_QUESTIONS;
                    found.truncate(MAX_QUESTIONS);
                }
            }
            if is_last {
                break;
            }
        }
        Ok((found, is_partial))
    }

    async fn open_in(
        &self,
        agent: &AgentId,
        conversation: &Conversation,
        query: &OpenQuestionsQuery,
    ) -> Result<Vec<Open>, AdminError> {
        let which = MessageSelector::Before(conversation.message_count.saturating_add(1));
        let messages = MessageQuery { conversation: conversation.id, which, limit: MAX_MESSAGES };
        let mut found = Vec::new();
        let mut asked: Option<Message> = None;
        for message in self.storage.messages(agent, &messages).await? {
            let is_wanted = |outcome: &Outcome| match query.outcome {
                Some(wanted) => *outcome == wanted,
                None => matches!(outcome, Outcome::Unknown | Outcome::Unsure),
            };
            match message.role {
                Speaker::Visitor => asked = Some(message),
                Speaker::Agent => {
                    let question = asked.take().filter(|asked| asked.turn == message.turn);
                    let question = question.filter(|asked| asked.at >= query.since);
                    let (Some(question), Some(outcome)) = (question, message.outcome.filter(is_wanted))
                    else {
                        continue;
                    };
                    let Some(asked) = AskedText::new(&question.text, &conversation.locale) else { continue };
                    found.push(Open {
                        text: question.text,
                        asked,
                        outcome,
                        at: question.at,
                        conversation: conversation.id,
                        visitor: conversation.visitor_id,
                    });
                }
                Speaker::Human => {}
            }
        }
        Ok(found)
    }

    async fn nearest(
        &self,
        agent: &AgentId,
        question: &Open,
        min_coverage: f32,
    ) -> Result<Nearest, AdminError> {
        let locale = question.asked.locale.clone();
        let question = Question { text: question.text.clone(), before: None, locale };
        let found = self.ports.retrieve(agent, &question).await.map_err(|error| match error {
            RetrieveError::Storage(error) => AdminError::from(error),
        })?;
        if found.is_taught {
            return Ok(Nearest::Taught);
        }
        let confidence = found.coverage;
        let is_enough = confidence > 0.0 && confidence >= min_coverage;
        let first = found.passages.into_iter().next();
        Ok(Nearest::Passage(first.map(|passage| NearestPassage { passage, confidence, is_enough })))
    }
}

/// A group of texts with the questions that have each, the most central text first; and that question.
fn group<'a>(texts: &[&[&'a Open]], languages: BTreeSet<String>) -> Option<(OpenQuestionGroup, &'a Open)> {
    let all = || texts.iter().copied().flatten().copied();
    let central = *texts.first()?.first()?;
    let last = all().max_by_key(|question| question.at)?;
    let number = |of: Outcome| all().filter(|question| question.outcome == of).count();
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let shown = texts.iter().filter_map(|same| same.first()).map(|question| shortened(&question.text));
    let group = OpenQuestionGroup {
        question: shortened(&central.text),
        others: shown.skip(1).take(MAX_OTHERS).collect(),
        unanswered: small(number(Outcome::Unknown)),
        unsure: small(number(Outcome::Unsure)),
        conversations: small(all().map(|question| question.conversation).collect::<HashSet<_>>().len()),
        visitors: small(all().map(|question| question.visitor).collect::<HashSet<_>>().len()),
        languages: languages.into_iter().collect(),
        last_asked_at: last.at,
        conversation: last.conversation,
        nearest: None,
    };
    Some((group, central))
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
