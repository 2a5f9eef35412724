import { prepareConfigMap, prepareSecret, validateConfigMap, validateSecret } from '#pkg/apis/index';
import type { Strategy } from '../../rest/strategy.ts';

export const configMapStrategy: Strategy = {
  prepareForCreate: prepareConfigMap,
  prepareForUpdate: prepareConfigMap,
  validate: async (object, old) => validateConfigMap(object, old),
};

/** The values of a Secret are in no message of it. */
export const secretStrategy: Strategy = {
  prepareForCreate: prepareSecret,
  prepareForUpdate: prepareSecret,
  validate: async (object, old) => validateSecret(object, old),
};
