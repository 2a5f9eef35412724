import type { AnyObject, Fence } from '#pkg/apimachinery/index';

export interface EventFacts {
  /** `Warning` for a problem that users should know. */
  type: 'Normal' | 'Warning';
  /** The reason in one word, for programs: `PublicationFailed`. At most 128 characters. */
  reason: string;
  /** Human-readable description, truncated after 1024 characters. */
  message: string;
}

export interface EventOptions {
  /** The fence of the write. Default: that of the controller's term, if there is a leader election. */
  fence?: Fence;
}

/** Receives events about objects. */
export interface EventSink {
  /**
   * Reports an event of the object to users, as a core/v1 Event in its namespace or in `default`. Repetitions increase
   * a count. Never throws and never waits. Do not depend on it: events are dropped if there are too many or the API
   * refuses them.
   */
  record(object: AnyObject, facts: EventFacts, options?: EventOptions): void;
}
