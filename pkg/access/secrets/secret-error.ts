/**
 * What is sealed cannot be opened: the key is not among ours, or it was not sealed so (another purpose, a changed
 * byte). Says nothing of the secret.
 */
export class SecretError extends Error {
  readonly reason: 'unknown-key' | 'unreadable';

  constructor(reason: 'unknown-key' | 'unreadable', message: string) {
    super(message);
    this.name = 'SecretError';
    this.reason = reason;
  }
}

/** The keys are not as they must be; the message is one sentence for the operator, without any key in it. */
export class SecretKeyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SecretKeyError';
  }
}
