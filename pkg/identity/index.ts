/** Contracts of authentication and authorization, shared by both services; cmd wires the implementations. */
export * from './authenticator.ts';
export * from './authorizer.ts';
export * from './credential-id.ts';
export * from './page.ts';
export * from './personal-token.ts';
export * from './restriction.ts';
export * from './user-info.ts';
