import type { AnyObject } from '#pkg/apimachinery/index';

export interface EventFacts {
  /** `Warning` for what somebody should know of. */
  type: 'Normal' | 'Warning';
  /** Why, in one word, for machines: `PublicationFailed`. At most 128 characters. */
  reason: string;
  /** What happened, for people. Past 1024 characters it is cut off. */
  message: string;
}

/** Takes what is to be told of objects. */
export interface EventSink {
  /**
   * Tells people what happened to the object, by a core/v1 Event in its namespace, or in `default`. What is repeated is
   * counted, not repeated. Never throws and never waits; nothing may depend on it, as events are dropped where there
   * are too many or the API refuses them.
   */
  record(object: AnyObject, facts: EventFacts): void;
}
