//! Faults in knowledge.

use super::*;

impl Faulty {
    /// All passages of an agent.
    async fn passages_of(&self, agent: &AgentId) -> Result<Vec<(KnowledgeId, Passage)>> {
        self.inner.passages(agent, None, u32::MAX).await
    }

    /// The change that reaches the store.
    async fn prepared_change(&self, agent: &AgentId, write: &KnowledgeWrite) -> Result<KnowledgeWrite> {
        let mut write = write.clone();
        match self.fault {
            Some(PlantedFault::KnowledgeVersionIgnored) => {
                let stored = self.inner.record(Some(agent), &RecordKind::Knowledge.into()).await?;
                write.version = stored.map_or(0, |stored| stored.version) + 1;
            }
            Some(PlantedFault::KnowledgeWithoutAudit) => write.effects.audit.clear(),
            Some(PlantedFault::KnowledgeRemovesFirstOnly) => write.remove.truncate(1),
            _ => {}
        }
        if let Some((document, passages)) = &mut write.add {
            if self.is(PlantedFault::KnowledgeLosesUrl) {
                document.url = None;
            }
            if self.is(PlantedFault::KnowledgeLosesQuestions) {
                document.questions.clear();
            }
            if self.is(PlantedFault::PassageLosesHeadings) {
                passages.iter_mut().for_each(|passage| passage.headings.clear());
            }
        }
        Ok(write)
    }

    /// The faulty effects before a change is attempted.
    async fn refused_change(&self, agent: &AgentId, write: &KnowledgeWrite) -> Result<()> {
        let known = self.inner.knowledge(agent).await?;
        let is_known = |id: KnowledgeId| known.iter().any(|document| document.id == id);
        let added = write.add.as_ref().map(|(document, _)| document.id);
        if self.is(PlantedFault::KnowledgeReplaceRefused) && added.is_some_and(is_known) {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        if self.is(PlantedFault::KnowledgeRemovesStrictly) && !write.remove.iter().all(|id| is_known(*id)) {
            return Err(StorageErrorKind::Missing.into());
        }
        Ok(())
    }
}

impl Faulty {
    pub(super) async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>> {
        let mut documents = self.inner.knowledge(agent).await?;
        if self.is(PlantedFault::KnowledgeCrossesAgents) {
            for other in self.others(agent) {
                documents.extend(self.inner.knowledge(&other).await?);
            }
            documents.sort_by_key(|document| document.id);
        }
        if self.is(PlantedFault::KnowledgeByCreation) {
            documents.sort_by_key(|document| document.created_at);
        }
        Ok(documents)
    }

    pub(super) async fn passages(
        &self,
        agent: &AgentId,
        after: Option<(KnowledgeId, u32)>,
        at_most: u32,
    ) -> Result<Vec<(KnowledgeId, Passage)>> {
        let Some(fault) = self.fault else { return self.inner.passages(agent, after, at_most).await };
        let mut all = self.passages_of(agent).await?;
        if fault == PlantedFault::PassagesCrossAgents {
            for other in self.others(agent) {
                all.extend(self.passages_of(&other).await?);
            }
        }
        let is_inclusive = fault == PlantedFault::PassagePositionInclusive;
        let candidate = |(document, passage): &(KnowledgeId, Passage)| (*document, passage.position);
        all.retain(|it| {
            after.is_none_or(|after| candidate(it) > after || is_inclusive && candidate(it) == after)
        });
        if fault == PlantedFault::PassagesSortAsText {
            all.sort_by_key(|(document, passage)| (*document, passage.position.to_string()));
        } else {
            all.sort_by_key(candidate);
        }
        if fault == PlantedFault::PassagesEndAtDocument {
            let first = all.first().map(|(document, _)| *document);
            all.retain(|(document, _)| Some(*document) == first);
        }
        if fault != PlantedFault::PassagesUnbounded {
            all.truncate(at_most as usize);
        }
        Ok(all)
    }

    pub(super) async fn change_knowledge(&self, agent: &AgentId, write: &KnowledgeWrite) -> Result<()> {
        self.refused_change(agent, write).await?;
        let mut passages = self.passages_of(agent).await?;
        let prepared = self.prepared_change(agent, write).await?;
        let result = self.inner.change_knowledge(agent, &prepared).await;
        match &result {
            Err(error) if error.kind == StorageErrorKind::AlreadyExists => {
                if self.is(PlantedFault::KnowledgeIdTakenTwice) {
                    return Ok(());
                }
                if self.is(PlantedFault::KnowledgeRemovedOnRefusal) {
                    let removal = KnowledgeWrite { add: None, ..prepared };
                    self.inner.change_knowledge(agent, &removal).await?;
                }
            }
            Ok(()) if self.is(PlantedFault::KnowledgeKeepsPassages) => {
                let stored = self.passages_of(agent).await?;
                let is_stored = |id: KnowledgeId, position: u32| {
                    stored.iter().any(|(document, it)| (*document, it.position) == (id, position))
                };
                passages.retain(|(document, it)| !is_stored(*document, it.position));
                let retained = passages.into_iter();
                let retained: Vec<TransferRow> =
                    retained.map(|(document, passage)| TransferRow::Passage { document, passage }).collect();
                self.inner.put_records(agent, &retained).await?;
            }
            _ => {}
        }
        if result.is_err() && self.is(PlantedFault::RefusedKnowledgeNoted) {
            self.note(&write.effects).await?;
        }
        result
    }
}
