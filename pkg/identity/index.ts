/** Contracts of authentication and authorization, shared by both services; who implements them is wired in cmd. */
export * from './authenticator.ts';
export * from './authorizer.ts';
export * from './personal-token.ts';
export * from './restriction.ts';
export * from './user-info.ts';
