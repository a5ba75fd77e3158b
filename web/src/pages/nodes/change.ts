import { useMutation, useQueryClient } from "@tanstack/react-query";

/** A change of nodes or of their reservations. Both are asked for again, because each shows something of the other. */
export function useNodeChange(onDone: () => void, mutationFn: () => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn,
    onSuccess: onDone,
    onSettled: async () => {
      await client.invalidateQueries({ queryKey: ["reservations"] });
      await client.invalidateQueries({ queryKey: ["nodes"] });
    },
  });
}
