export type ServiceTokenProblem = 'other-user' | 'invalid';

/** A token cannot be a service's; the message is one sentence for the operator, without the token. */
export class ServiceTokenError extends Error {
  readonly problem: ServiceTokenProblem;

  constructor(problem: ServiceTokenProblem, username: string) {
    super(sentences[problem](username));
    this.name = 'ServiceTokenError';
    this.problem = problem;
  }
}

const sentences: Readonly<Record<ServiceTokenProblem, (username: string) => string>> = {
  'other-user': (username) => `The token belongs to another user than ${username}.`,
  invalid: (username) => `The token of ${username} was revoked or has expired.`,
};
