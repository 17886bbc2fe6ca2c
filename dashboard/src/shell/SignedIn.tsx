import { useQuery } from "@tanstack/react-query";
import { useNavigate, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { meQuery } from "../api/session";
import { Shell } from "./Shell";

/** The shell, for as long as somebody is signed in: a session may end at any time. */
export function SignedIn() {
  const { data: me } = useQuery(meQuery);
  return me === null ? <ToSignIn /> : <Shell />;
}

/** Leaves once, from the page that was open: what is remembered must not be the way to the sign-in itself. */
function ToSignIn() {
  const navigate = useNavigate();
  const { state } = useRouter();
  useEffect(() => {
    void navigate({ to: "/sign-in", search: { next: state.location.href } });
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once
  }, []);
  return null;
}
