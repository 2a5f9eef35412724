import { defaultResourceQuota, validateResourceQuota } from '#pkg/apis/index';
import type { Strategy } from '../../rest/strategy.ts';

/** The strategy of quotas. `QuotaKeeper` enforces them and writes their status. */
export const resourceQuotaStrategy: Strategy = {
  prepareForCreate: defaultResourceQuota,
  prepareForUpdate: defaultResourceQuota,
  validate: async (object) => validateResourceQuota(object),
};
