import type { IndexDefinition, IndexValue } from '../scheme/index-definition.ts';
import { formatIndexValue } from '../scheme/index-value.ts';
import type { FieldRequirement, FieldSelector, LabelRequirement, LabelSelector } from './requirement.ts';

const symbols = { GreaterThan: '>', GreaterOrEqual: '>=', LessThan: '<', LessOrEqual: '<=', Prefix: '^=' } as const;

/** The query parameter that `parseLabelSelector` parses to this selector; '' selects everything. */
export function formatLabelSelector(selector: LabelSelector): string {
  return selector.map(formatLabelRequirement).join(',');
}

/** The query parameter that `parseFieldSelector` parses to this selector; '' selects everything. */
export function formatFieldSelector(selector: FieldSelector): string {
  return selector.map(formatFieldRequirement).join(',');
}

function formatLabelRequirement(requirement: LabelRequirement): string {
  switch (requirement.operator) {
    case 'Exists':
      return requirement.key;
    case 'DoesNotExist':
      return `!${requirement.key}`;
    default:
      return formatMembership(requirement.key, requirement.operator, requirement.values, requirement.values);
  }
}

function formatFieldRequirement(requirement: FieldRequirement): string {
  const { index, operator } = requirement;
  switch (operator) {
    case 'Exists':
      return index.name;
    case 'DoesNotExist':
      return `!${index.name}`;
    case 'In':
    case 'NotIn':
      return formatMembership(
        index.name,
        operator,
        requirement.values.map((value) => escapeValue(index, value)),
        requirement.values.map((value) => escapeMember(index, value)),
      );
    default:
      return `${index.name}${symbols[operator]}${escapeValue(index, requirement.value)}`;
  }
}

/**
 * One value without parentheses: every Kubernetes server understands this form, and no other can express the empty
 * value.
 */
function formatMembership(
  name: string,
  operator: 'In' | 'NotIn',
  single: readonly string[],
  members: readonly string[],
): string {
  if (single.length === 1) return `${name}${operator === 'In' ? '=' : '!='}${single[0]}`;
  return `${name} ${operator === 'In' ? 'in' : 'notin'} (${members.join(',')})`;
}

function escapeValue(index: IndexDefinition, value: IndexValue): string {
  return formatIndexValue(index.type, value).replace(/[\\,=]|^\(/g, String.raw`\$&`);
}

function escapeMember(index: IndexDefinition, value: IndexValue): string {
  return formatIndexValue(index.type, value).replace(/[\\,=() \t\r\n]/g, String.raw`\$&`);
}
