// The console API as openapi/console-v1.json describes it: which operation a request is, whether its query and body are valid,
// and whether an answer is what the description says.
import { readFileSync } from 'node:fs';

const api = JSON.parse(readFileSync(new URL('../../openapi/console-v1.json', import.meta.url), 'utf8'));
const resolve = (schema) => (schema?.$ref ? resolve(schema.$ref.slice(2).split('/').reduce((at, part) => at[part], api)) : schema);
const typeOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value);

/** What of a value violates a schema. */
export const violations = (schema, value, at = '') => {
  schema = resolve(schema);
  if (!schema || schema === true) return [];
  const options = schema.oneOf ?? schema.anyOf;
  if (options) return options.some((one) => !violations(one, value, at).length) ? [] : [`${at}: fits none of ${options.length} options`];
  const types = schema.type && [schema.type].flat();
  const type = typeOf(value);
  if (types && !types.includes(type) && !(type == 'integer' && types.includes('number'))) return [`${at}: ${type}, not ${types}`];
  if (schema.enum && !schema.enum.includes(value)) return [`${at}: ${JSON.stringify(value)} is none of ${schema.enum}`];
  if (type == 'array') return value.flatMap((item, n) => violations(schema.items, item, `${at}[${n}]`));
  if (type != 'object') return [];
  const found = (schema.required ?? []).filter((name) => !(name in value)).map((name) => `${at}.${name}: missing`);
  for (const [name, member] of Object.entries(value)) {
    const known = schema.properties?.[name];
    if (known) found.push(...violations(known, member, `${at}.${name}`));
    else if (schema.additionalProperties === false) found.push(`${at}.${name}: unknown`);
    else if (typeof schema.additionalProperties == 'object') found.push(...violations(schema.additionalProperties, member, `${at}.${name}`));
  }
  return found;
};
const operations = Object.entries(api.paths).flatMap(([path, item]) =>
  Object.entries(item).filter(([method]) => /^(get|post|put|patch|delete)$/.test(method)).map(([method, operation]) => ({
    id: operation.operationId, method: method.toUpperCase(), path, operation, names: [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]), pattern: new RegExp('^' + path.replace(/^\/console\/v1/, '').replace(/\{\w+\}/g, '([^/]+)') + '$'),
  })));
export const operationIds = operations.map((one) => one.id);
/** The operation of a request, and the values of its path; a literal segment comes before a parameter. */
export const operationOf = (method, path) => {
  const found = operations.filter((one) => one.method == method && one.pattern.test(path)).sort((a, b) => a.names.length - b.names.length)[0];
  return found && { ...found, values: Object.fromEntries(found.pattern.exec(path).slice(1).map((value, n) => [found.names[n], decodeURIComponent(value)])) };
};
/** What is wrong with a request. */
export const badRequest = ({ id, operation }, query, body, raw) => {
  const known = (operation.parameters ?? []).filter((one) => one.in == 'query').map((one) => one.name);
  const found = [...query.keys()].filter((name) => !known.includes(name)).map((name) => `${id}: unknown query ${name}`);
  const content = operation.requestBody?.content;
  const schema = content?.['application/json']?.schema;
  if (!content && raw) found.push(`${id}: a body`);
  // A missing member is the server's to report.
  if (schema) found.push(...violations(schema, body, `${id} body`).filter((one) => !one.endsWith(': missing')));
  return found;
};
/** What is wrong with a success. */
export const badAnswer = ({ id, operation }, status, envelope) => {
  const response = operation.responses[status] ?? operation.responses['200'] ?? operation.responses['2XX'];
  const schema = response && resolve(response).content?.['application/json']?.schema;
  return schema ? violations(schema, envelope, `${id} answer`) : [];
};
