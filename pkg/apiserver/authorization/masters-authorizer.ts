import { systemMasters, type Attributes, type Authorizer, type Decision } from '#pkg/identity/index';

/** `system:masters` may do everything, nobody else anything. Source: Kubernetes' privileged group. */
export class MastersAuthorizer implements Authorizer {
  async authorize({ user }: Attributes): Promise<Decision> {
    return { allowed: user.groups.includes(systemMasters), reason: '' };
  }
}
