/**
 * A sealed secret cannot be opened: its key is unknown, or it was sealed for another purpose or changed. The message
 * never holds the secret.
 */
export class SecretError extends Error {
  readonly reason: 'unknown-key' | 'unreadable';

  constructor(reason: 'unknown-key' | 'unreadable', message: string) {
    super(message);
    this.name = 'SecretError';
    this.reason = reason;
  }
}

/** The keys cannot be used; the message is one sentence for the operator, without any key in it. */
export class SecretKeyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SecretKeyError';
  }
}
