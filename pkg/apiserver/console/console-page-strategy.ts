import { fieldError, isJsonObject, type JsonObject, type JsonValue, type StatusCause } from '#pkg/apimachinery/index';
import { validateRole } from '#pkg/apis/index';
import type { Strategy } from '../rest/strategy.ts';

/** The rules of a page are those of a role, and not every page fits in every place. */
export const consolePageStrategy: Strategy = {
  validate: async ({ spec }) =>
    isJsonObject(spec)
      ? [
          ...validateTitle(spec),
          ...validatePlace(spec),
          ...validateRequests(spec),
          ...validateRole(spec, { namespaced: false }).map((cause) => ({ ...cause, field: `spec.${cause.field}` })),
        ]
      : [],
};

/** Such a character moves what the console shows next to the title: which plugin it is of, for example. */
const movingCharacter = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

function validateTitle({ title }: JsonObject): StatusCause[] {
  if (typeof title !== 'string' || !movingCharacter.test(title)) return [];
  return [
    fieldError.invalid(
      'spec.title',
      title,
      'it must be one line, without characters that change the direction of text',
    ),
  ];
}

const placesOfContent: ReadonlySet<JsonValue> = new Set(['page', 'overview', 'objectTab']);
const placesOfActions: ReadonlySet<JsonValue> = new Set(['objectAction', 'command']);
const placesOfObjects: ReadonlySet<JsonValue> = new Set(['objectTab', 'objectAction']);

function validatePlace({ place = 'page', model, objects, content, action }: JsonObject): StatusCause[] {
  const causes: StatusCause[] = [];
  if (placesOfObjects.has(place) && model === undefined)
    causes.push(fieldError.required('spec.model', 'a tab or an action needs the model of its objects'));
  if (!placesOfObjects.has(place) && model !== undefined)
    causes.push(
      fieldError.invalid('spec.model', model, 'only a page with the place objectTab or objectAction has a model'),
    );
  if (place !== 'objectAction' && objects !== undefined)
    causes.push(fieldError.invalid('spec.objects', objects, 'only a page with the place objectAction has it'));
  if (!placesOfContent.has(place) && content !== undefined)
    causes.push(fieldError.invalid('spec.place', place, 'content is for page, overview and objectTab'));
  if (!placesOfActions.has(place) && action !== undefined)
    causes.push(fieldError.invalid('spec.place', place, 'spec.action is for objectAction and command'));
  return causes;
}

function validateRequests({ place = 'page', content, action }: JsonObject): StatusCause[] {
  const isOfObject = placesOfObjects.has(place);
  const parts = elementsOf(content, 'spec.content');
  return [
    ...(isJsonObject(action) ? validateRequest('spec.action', action, isOfObject) : []),
    ...parts.flatMap(([field, { buttons }]) =>
      elementsOf(buttons, `${field}.buttons`).flatMap(([at, button]) => validateRequest(at, button, isOfObject)),
    ),
  ];
}

function elementsOf(list: JsonValue | undefined, field: string): [field: string, element: JsonObject][] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((element, at) => (isJsonObject(element) ? [[`${field}[${at}]`, element]] : []));
}

/** The console shows all of it before it is sent. */
const maxContentLength = 10_000;

function validateRequest(field: string, { path, patch, body }: JsonObject, isOfObject: boolean): StatusCause[] {
  const causes: StatusCause[] = [];
  if (!isOfObject && patch !== undefined)
    causes.push(fieldError.forbidden(`${field}.patch`, 'only a tab or an action of objects has an object to patch'));
  if (!isOfObject && typeof path === 'string' && path.includes('{'))
    causes.push(fieldError.invalid(`${field}.path`, path, 'only a tab or an action of objects has a name'));
  if (patch !== undefined && body !== undefined)
    causes.push(fieldError.forbidden(`${field}.body`, 'a patch is all that is sent'));
  for (const [name, content] of Object.entries({ patch, body }))
    if (content !== undefined && JSON.stringify(content).length > maxContentLength)
      causes.push(fieldError.tooLong(`${field}.${name}`, maxContentLength));
  return causes;
}
