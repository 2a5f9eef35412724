/**
 * The language everyone speaks: objects, models, selectors, failures and watch events, as types and pure functions.
 * No I/O, and no import of any other wing.
 */
export * from './meta/object.ts';
export * from './schema/group-version.ts';
export * from './scheme/index-definition.ts';
export * from './scheme/json-schema.ts';
export * from './scheme/model.ts';
export * from './selector/requirement.ts';
export * from './status/status.ts';
export * from './status/status-error.ts';
export * as fieldError from './status/field-error.ts';
export * from './watch/watch-event.ts';
