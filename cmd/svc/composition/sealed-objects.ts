import type { Pool } from 'pg';
import type { ObjectSealer, ResealedObjects, SealedObjects } from '#pkg/access/index';
import { formatApiVersion, groupResource, isStatusError, type Model } from '#pkg/apimachinery/index';
import { builtinModels } from '#pkg/apis/index';
import { ObjectSealing } from '#pkg/apiserver/index';
import { rewriteBodies, type RewriteBody } from '#pkg/storage/index';

/** The objects of the content platform that the keys seal, for `rotateKeys`. */
export function sealedObjects(pool: Pool): SealedObjects {
  return {
    reseal: async (sealer) => {
      const total: ResealedObjects = { objects: 0, history: 0, unreadable: 0 };
      for (const model of builtinModels.filter(({ sealedFields }) => sealedFields !== undefined))
        await resealModel(pool, model, { sealer, total });
      return total;
    },
  };
}

function resealModel(
  pool: Pool,
  model: Model,
  { sealer, total }: { sealer: ObjectSealer; total: ResealedObjects },
): Promise<void> {
  const sealing = new ObjectSealing(model, sealer);
  const rewrite: RewriteBody = (body, key, isCurrent) => {
    try {
      const resealed = sealing.reseal(body, key);
      if (resealed !== undefined) total[isCurrent ? 'objects' : 'history'] += 1;
      return resealed;
    } catch (error) {
      if (!isStatusError(error)) throw error;
      total.unreadable += 1;
      return undefined;
    }
  };
  const apiVersion = formatApiVersion({ group: model.group, version: model.storageVersion });
  const bodyStart = `{"apiVersion":"${apiVersion}","kind":"${model.names.kind}",`;
  return rewriteBodies(pool, { resource: groupResource(model), bodyStart, rewrite });
}
