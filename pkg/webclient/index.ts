/**
 * `@svc/client`: the API for front ends, in browsers, workers and Node, over `fetch`. Reads and writes, lists that stay
 * up to date, and edits that are merged by field.
 */
export {
  isStatusError,
  StatusError,
  type AnyObject,
  type ApiObject,
  type ClientEvent,
  type Condition as StatusCondition,
  type EventStream,
  type IndexCondition,
  type IndexedResourceType,
  type IndexTypes,
  type JsonObject,
  type JsonValue,
  type ListKeys,
  type MetadataIndexes,
  type ResourceType,
  type Scalar,
  type SortedBy,
  type SortText,
  type StatusCause,
  type StatusReason,
  type Stored,
  type Where,
  type WhereLabels,
  type WhereSelection,
} from '#pkg/apimachinery/index';
export {
  connect,
  type ServerConnectOptions,
  type ServerConnection,
  type LoginSession,
  type PathReadOptions,
  type PathSendOptions,
} from './connect.ts';
export type { BrowserSession, ChangeSink, FeedProvider, FeedSelection, LiveSource } from './live-source.ts';
export { selectionParams } from './resource/query.ts';
export type { RequestSenderOptions } from './request/sender.ts';
export { RetryBackoff } from './retry-backoff.ts';
export type {
  ApplyCallOptions,
  CallOptions,
  Draft,
  ResourceQuery,
  ListResult,
  ObjectName,
  PatchOptions,
  RemoveOptions,
  Resource,
  WatchQuery,
  WebModel,
  WriteCallOptions,
} from './resource/resource.ts';
export { live, type LiveQuery } from './live/live.ts';
export type { LiveList } from './live/live-list.ts';
export type { LiveState } from './live/list-follower.ts';
export { follow, type FollowOptions } from './live/follow.ts';
export { edit, type Edit, type SaveOptions, type Side } from './edit/edit.ts';
export { mergeObjects, type Conflict, type ObjectMerge } from './edit/merge.ts';
