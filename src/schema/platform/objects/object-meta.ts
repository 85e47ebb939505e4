import { API_VERSION } from './api-group.ts';

export type ObjectMeta = {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  /**
   * Who wrote which field, and when. It is half of an object's size, so watches keep nothing of it, or only the times.
   */
  managedFields?: { manager?: string; subresource?: string; time?: string; fieldsV1?: object }[];
};

type OwnerReference = {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
};

/** Returns the reference that an object has to the custom resource with which it is deleted. */
export const buildOwnerReference = (
  kind: 'Deployment' | 'Revision',
  { name, uid = '' }: ObjectMeta,
): OwnerReference => ({
  apiVersion: API_VERSION,
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});
