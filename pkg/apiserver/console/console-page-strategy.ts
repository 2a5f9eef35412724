import { fieldError, isJsonObject, type JsonObject, type StatusCause } from '#pkg/apimachinery/index';
import { validateRole } from '#pkg/apis/index';
import type { Strategy } from '../rest/strategy.ts';

/** The rules of a page are those of a role, and not every page fits in every place. */
export const consolePageStrategy: Strategy = {
  validate: async ({ spec }) =>
    isJsonObject(spec)
      ? [
          ...validatePlace(spec),
          ...validateRole(spec, { namespaced: false }).map((cause) => ({ ...cause, field: `spec.${cause.field}` })),
        ]
      : [],
};

function validatePlace({ place = 'page', model, content }: JsonObject): StatusCause[] {
  const causes: StatusCause[] = [];
  if (place === 'objectTab' && model === undefined)
    causes.push(fieldError.required('spec.model', 'a tab needs the model of its objects'));
  if (place !== 'objectTab' && model !== undefined)
    causes.push(fieldError.invalid('spec.model', model, 'only a page with the place objectTab has a model'));
  if (place === 'userCenter' && content !== undefined)
    causes.push(fieldError.invalid('spec.place', place, 'the user center shows frames, not content'));
  return causes;
}
