/** The fields that are read of the specs of live Deployments, StatefulSets and Jobs, whichever of them a kind has. */
export type WorkloadSpec = {
  template: {
    spec: {
      hostUsers?: boolean;
      securityContext?: { runAsUser?: number };
      containers: {
        name: string;
        image: string;
        env?: { name: string; value?: string }[];
        resources?: { limits?: { memory?: string } };
      }[];
      volumes?: { name: string }[];
    };
  };
  volumeClaimTemplates?: {
    apiVersion?: string;
    kind?: string;
    metadata: { name?: string };
    spec: Record<string, unknown>;
  }[];
};
