import type { FieldClause, LabelClause, SelectorRecord } from '../history/history.ts';

/** The selector as query parameters. */
export function selectorParameters({ labels, fields }: SelectorRecord): URLSearchParams {
  const query = new URLSearchParams();
  if (labels.length > 0) query.set('labelSelector', labels.map(labelText).join(','));
  if (fields.length > 0) query.set('fieldSelector', fields.map(fieldText).join(','));
  return query;
}

function labelText(clause: LabelClause): string {
  if ('values' in clause) return setText(clause.key, clause.operator, clause.values);
  return clause.operator === 'exists' ? clause.key : `!${clause.key}`;
}

function fieldText(clause: FieldClause): string {
  const { field } = clause;
  if ('values' in clause) return setText(field, clause.operator, clause.values);
  if ('value' in clause) return `${field}${clause.operator === 'prefix' ? '^=' : clause.operator}${clause.value}`;
  return clause.operator === 'exists' ? field : `!${field}`;
}

function setText(key: string, operator: 'in' | 'notIn', values: readonly (string | number | boolean)[]): string {
  if (values.length === 1) return `${key}${operator === 'in' ? '=' : '!='}${values[0]}`;
  return `${key} ${operator === 'in' ? 'in' : 'notin'} (${values.join(',')})`;
}
