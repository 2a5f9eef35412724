import type { JsonSchema } from '#pkg/apimachinery/index';

const text: JsonSchema = { type: 'string' };

/** One condition in a status. Source: meta/v1 Condition. */
export const conditionSchema: JsonSchema = {
  type: 'object',
  required: ['type', 'status'],
  properties: {
    type: text,
    status: text,
    reason: text,
    message: text,
    lastTransitionTime: { type: 'string', format: 'date-time' },
  },
};
