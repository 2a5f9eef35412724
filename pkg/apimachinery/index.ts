/**
 * The language everyone speaks: objects, models, selectors, failures and watch events, as types and pure functions.
 * No I/O, and no import of any other wing.
 */
export * from './client/abort-error.ts';
export * from './client/call-rules.ts';
export * from './client/client.ts';
export * from './client/gather-list.ts';
export * from './client/fence.ts';
export * from './client/resource-type.ts';
export * from './meta/finalizers.ts';
export * from './meta/object.ts';
export * from './schema/group-version.ts';
export * from './scheme/computed-key.ts';
export * from './scheme/index-definition.ts';
export * from './scheme/index-definition-validation.ts';
export * from './scheme/index-key.ts';
export { isIndexDate } from './scheme/index-value.ts';
export * from './scheme/index-path.ts';
export * from './scheme/json-schema.ts';
export * from './scheme/model.ts';
export * from './selector/requirement.ts';
export * from './selector/compare.ts';
export * from './selector/field-selector.ts';
export * from './selector/format-selector.ts';
export * from './selector/label-selector.ts';
export * from './selector/matcher.ts';
export * from './selector/sort.ts';
export * from './status/status.ts';
export * from './status/status-error.ts';
export * from './status/status-error-from.ts';
export * as fieldError from './status/field-error.ts';
export * from './watch/watch-event.ts';
export * from './turns/event-loop-turns.ts';
export * from './patch/json-patch.ts';
export * from './patch/merge-patch.ts';
export * from './patch/merge-patch-between.ts';
export { decodeJson } from './serializer/decode-json.ts';
export { type DecodeResult } from './serializer/decode-result.ts';
export * from './serializer/decode-yaml.ts';
export * from './serializer/encode-yaml.ts';
export * from './serializer/field-path.ts';
export { isPrototypeKey, maxJsonDepth } from './serializer/value-rules.ts';
export * from './validation/metadata-shape.ts';
export * from './validation/name.ts';
export * from './validation/nearest-name.ts';
export * from './validation/object-meta.ts';
export * from './validation/qualified-key.ts';
export * from './validation/timestamp.ts';
