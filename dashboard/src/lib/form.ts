// Input that survives a failed save, a reload and the end of the session.
import { useSignal, useSignalEffect } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { ApiError } from './api';
import { stored } from './base';
import { fieldText } from './errors';
import { same, type Values } from './merge';

/** A form: its values, what was changed, the errors at its fields. */
export interface Form<T extends Values> {
  values: T;
  base: T;
  errors: Record<string, string>;
  /** What failed beyond the fields. */
  failure: ApiError | null;
  busy: boolean;
  dirty: boolean;
  /** Whether the values were restored from before a reload. */
  restored: boolean;
  set: (field: keyof T & string, value: unknown) => void;
  /** Runs a save; true if it succeeded. Errors stand at their fields, and focus goes to the first. */
  submit: (save: (values: T) => Promise<unknown>) => Promise<boolean>;
  reset: (base?: T) => void;
  /** Takes a newer state of the record under the changes; fields that were not touched follow it. */
  rebase: (base: T, values: T) => void;
}
/** `id` names the form in sessionStorage; `secret` fields are not written there. */
export const useForm = <T extends Values>(id: string, initial: T, secret: string[] = []): Form<T> => {
  const state = useSignal({ base: initial, values: initial, restored: false });
  const errors = useSignal<Record<string, string>>({});
  const failure = useSignal<ApiError | null>(null);
  const busy = useSignal(false);
  const current = useRef('');
  if (current.current != id) {
    current.current = id;
    let draft: T | null = null;
    try {
      draft = JSON.parse(stored.read('session', 'draft:' + id) ?? 'null');
    } catch {
      // An unreadable draft is none.
    }
    state.value = { base: initial, values: { ...initial, ...draft }, restored: !!draft };
    errors.value = {};
    failure.value = null;
  }
  const dirty = Object.keys(state.value.values).some((field) => !same(state.value.base[field], state.value.values[field]));
  // At each key, not after the next frame: a reload right after the last one loses nothing.
  useSignalEffect(() => {
    const { base, values } = state.value;
    const draft = Object.fromEntries(Object.entries(values).filter(([field, value]) => !secret.includes(field) && !same(base[field], value)));
    stored.write('session', 'draft:' + current.current, Object.keys(draft).length ? JSON.stringify(draft) : null);
  });
  return {
    ...state.value,
    errors: errors.value,
    failure: failure.value,
    busy: busy.value,
    dirty,
    set(field, value) {
      state.value = { ...state.value, values: { ...state.value.values, [field]: value } };
      if (errors.value[field]) errors.value = { ...errors.value, [field]: '' };
    },
    async submit(save) {
      if (busy.value) return false;
      busy.value = true;
      failure.value = null;
      errors.value = {};
      try {
        await save(state.value.values);
        stored.write('session', 'draft:' + id, null);
        state.value = { base: state.value.values, values: state.value.values, restored: false };
        return true;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.code == 'CANCELLED') return false;
        errors.value = Object.fromEntries(error.fields.map((one) => [one.field, fieldText(one)]).reverse());
        if (!error.fields.some((one) => one.field in state.value.values)) failure.value = error;
        setTimeout(() => document.querySelector<HTMLElement>('[aria-invalid=true]')?.focus());
        return false;
      } finally {
        busy.value = false;
      }
    },
    reset(base) {
      const next = base ?? state.value.base;
      state.value = { base: next, values: next, restored: false };
      errors.value = {};
      failure.value = null;
    },
    rebase(base, values) {
      state.value = { base, values, restored: false };
    },
  };
};
