import { isJsonObject } from '#pkg/apimachinery/index';
import { validateRole } from '#pkg/apis/index';
import type { Strategy } from '../rest/strategy.ts';

/** The rules of a page are those of a role. */
export const consolePageStrategy: Strategy = {
  validate: async ({ spec }) =>
    isJsonObject(spec)
      ? validateRole(spec, { namespaced: false }).map((cause) => ({ ...cause, field: `spec.${cause.field}` }))
      : [],
};
