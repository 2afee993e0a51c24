// The import of contacts in the stub: a plain reader of CSV whose addresses say what each line does.
const KINDS = [['c', 'created'], ['u', 'updated'], ['=', 'unchanged'], ['r', 'refused']];
const GUESSES = { id: 'externalReferenceId', 'e-mail': 'primaryEmail', email: 'primaryEmail', surname: 'lastName', 'first name': 'firstName' };
const REASON = "primaryEmail must be an e-mail address (column 'E-Mail')";

/** The operations. `stub.pieceOfImport` is how many lines a call imports, `stub.letterOf` what a line does when it runs. */
export const imports = (stub, { ok, refuse }) => {
  const parse = (raw) => {
    const [head = '', ...rows] = raw.replace(/^\ufeff/, '').trim().split(/\r?\n/).map((line) => line.split(','));
    return { head, rows };
  };
  const letter = (email) => (!email?.includes('@') ? 'r' : email.startsWith('known') ? 'u' : email.startsWith('same') ? '=' : 'c');
  const emailOf = (mapping, row) => row[mapping.indexOf('primaryEmail')];
  const csv = (head, rows) => ({ refusedHeader: '\ufeff' + [...head, 'reason'].join(',') + '\r\n', refusedRows: rows.map((row) => [...row, `"${REASON}"`].join(',') + '\r\n').join(''), hasAllRefused: true });
  const counted = (effects) => Object.fromEntries(KINDS.map(([kind, name]) => [name, [...effects].filter((each) => each == kind).length]));
  const unreadable = (raw, query) => {
    if (raw.includes('"')) return refuse(422, 'NOT_POSSIBLE', `${query.get('fileName')}: line 2: a row begins here with a quotation mark that is not closed`);
    if (/;/.test(raw) && !query.get('delimiter')) return refuse(422, 'NOT_POSSIBLE', `${query.get('fileName')}: the delimiter may be ',' or ';'; name it with delimiter`);
    return null;
  };
  return {
    'contacts.previewImport': ({ query, raw }) => {
      const bad = unreadable(raw, query);
      if (bad) return bad;
      const { head, rows } = parse(raw);
      const mapping = query.get('mapping') && JSON.parse(query.get('mapping'));
      const columns = head.map((name, at) => ({ name, field: (mapping ?? [])[at] ?? GUESSES[name.toLowerCase()] ?? null, custom: GUESSES[name.toLowerCase()] ? null : 'customFields.' + name.toLowerCase().replace(/\W+(\w)/g, (_, first) => first.toUpperCase()), samples: [...new Set(rows.map((row) => row[at]).filter(Boolean))].slice(0, 3) }));
      const lines = rows.map((row, at) => {
        const email = mapping && emailOf(mapping, row);
        const kind = letter(email);
        const known = stub.data.contacts[at % Math.max(1, stub.data.contacts.length)]?.id ?? null;
        return { kind, row, line: at + 2, contact: kind == 'u' || kind == '=' ? known : null, name: email ?? '', changes: kind == 'u' ? [{ field: 'lastName', isHidden: false, before: 'Okafor', after: 'Okafor-Lind' }, { field: 'customFields.note', isHidden: true, before: '', after: '' }] : [], reason: kind == 'r' ? REASON : null };
      });
      const effects = mapping ? lines.map((one) => one.kind).join('') : '';
      const listed = (kind) => (mapping ? lines.filter((one) => one.kind == kind).slice(0, 100).map(({ line, contact, name, changes, reason }) => ({ line, contact, name, changes, reason })) : []);
      const refused = mapping ? lines.filter((one) => one.kind == 'r') : [];
      return ok({
        readAs: "CSV: delimiter ',' (detected), encoding UTF-8 (detected)", columns, lines: rows.length, isChecked: !!mapping, ...counted(effects),
        createdLines: listed('c'), updatedLines: listed('u'), unchangedLines: listed('='), refusedLines: listed('r'),
        reasons: refused.length ? [{ reason: REASON, lines: refused.length }] : [], effects, ...csv(head, refused.map((one) => one.row)),
      });
    },
    'contacts.runImport': ({ query, raw }) => {
      const { head, rows } = parse(raw);
      const mapping = JSON.parse(query.get('mapping'));
      const after = Number(query.get('after') ?? 0);
      const piece = rows.slice(after, after + stub.pieceOfImport);
      const kinds = piece.map((row) => stub.letterOf(emailOf(mapping, row)) ?? letter(emailOf(mapping, row)));
      const refused = piece.filter((_, at) => kinds[at] == 'r');
      const done = after + piece.length;
      return ok({
        lines: rows.length, done, isComplete: done == rows.length, ...counted(kinds.join('')), effects: kinds.join(''),
        refusedLines: piece.flatMap((_, at) => (kinds[at] == 'r' ? [{ line: after + at + 2, reason: REASON }] : [])).slice(0, 100), ...csv(head, refused),
      });
    },
  };
};
