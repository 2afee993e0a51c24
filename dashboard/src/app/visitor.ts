// How a visitor is called where the name is not known.
import { t } from '../lib/i18n';
import type { Conversation } from './types';

export const nameOfVisitor = (one: Conversation): string => one.visitor.name ?? one.visitor.email ?? t('Visitor {id}', { id: one.id.slice(-4) });
