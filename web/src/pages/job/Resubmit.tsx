import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { api, body } from "../../api/client";
import { requestKey } from "../../api/requestKey";

/** Submits an ended job once more as it was, and goes there. */
export function Resubmit({ job }: { job: string }) {
  const navigate = useNavigate();
  const submit = useMutation({
    mutationFn: async () =>
      body(
        await api.POST("/v1/jobs/{job}/retry", {
          params: { path: { job }, header: { "Idempotency-Key": requestKey() } },
        }),
      ),
    onSuccess: (made) => navigate({ to: "/jobs/$job", params: { job: made.id } }),
  });
  return (
    <>
      <button
        disabled={submit.isPending}
        onClick={() => {
          submit.mutate();
        }}
      >
        Resubmit
      </button>
      {submit.error && (
        <span className="tone-bad" role="alert">
          {submit.error.message}
        </span>
      )}
    </>
  );
}
