export type PrivateTokenProblem = 'unknown-user' | 'none' | 'exists';

/** A command failed; the message is one sentence for the operator. */
export class PrivateTokenError extends Error {
  readonly problem: PrivateTokenProblem;

  constructor(problem: PrivateTokenProblem, username: string) {
    super(sentences[problem](JSON.stringify(username.slice(0, 128))));
    this.name = 'PrivateTokenError';
    this.problem = problem;
  }
}

const sentences: Readonly<Record<PrivateTokenProblem, (user: string) => string>> = {
  'unknown-user': (user) => `There is no user ${user}.`,
  none: (user) => `The user ${user} has no private token; svc private-token create makes one.`,
  exists: (user) =>
    `The user ${user} has a private token already; svc private-token show prints it, rotate replaces it.`,
};
