(** Algorithm 1 on the CEA of a formula lists the complex events of the formula (CORE Thm. 2 and 4). *)

Require Import Mechanised.Tactics Mechanised.CompileProofs Mechanised.CeaProofs.
Require Mechanised.StrategyProofs Mechanised.AlgorithmProofs.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics Mechanised.Automaton.
Require Import Mechanised.Evaluate Mechanised.Compile Mechanised.Determinise.
Require Import Mechanised.OpenEvents Mechanised.Tecs Mechanised.Engine.

Lemma taken_from_app i ms ns : taken_from i (ms ++ ns) = taken_from i ms ++ taken_from (i + length ms) ns.
Proof.
  revert i; induction ms as [|[] ms IH]; intros i; cbn; rewrite ?Nat.add_0_r, ?IH, <- ?plus_n_Sm; auto.
Qed.

Section Subsets.
  Context {D : Type} (A : cea D) (dec : decidable_states A).
  Hypothesis all_listed : listed A.
  Let B := subsets A dec.

  (** A run stays a run when later events come. *)
  Lemma path_later (evs evs' : stream D) ms : forall i p q, path A evs i p ms q -> path A (evs ++ evs') i p ms q.
  Proof.
    induction ms as [|m ms IH]; intros i p q H; [apply path_nil in H; now apply path_nil|].
    rewrite path_cons in *. destruct H as (t & r & E & H & R). exists t, r. repeat split; auto.
    rewrite nth_error_app1; auto. eapply nth_error_length; eauto.
  Qed.
  Lemma path_earlier (evs evs' : stream D) ms : forall i p q, i + length ms <= length evs ->
    path A (evs ++ evs') i p ms q -> path A evs i p ms q.
  Proof.
    induction ms as [|m ms IH]; intros i p q L H; [apply path_nil in H; now apply path_nil|].
    cbn in L. rewrite path_cons in *. destruct H as (t & r & E & H & R). exists t, r. repeat split; auto.
    - rewrite nth_error_app1 in E by lia. auto.
    - apply IH; auto. lia.
  Qed.

  (** The states after marks from position i on. *)
  Definition states_after (s : stream D) i ms (U : list (state A)) : Prop :=
    forall q, In q U <-> exists p, initial A p = true /\ path A (rev s) i p ms q.

  Lemma step_states t s i ms m U : i + length ms = length s -> states_after s i ms U ->
    states_after (t :: s) i (ms ++ [m]) (steps A dec t m U).
  Proof.
    intros L H q. rewrite StrategyProofs.in_steps by exact all_listed. cbn [rev]. split.
    - intros (r & I & K). apply H in I as (p & I & R). exists p. split; auto. apply path_app.
      exists r. split; [now apply path_later|]. rewrite path_cons. exists t, q. rewrite path_nil.
      repeat split; auto. rewrite L, <- rev_length, nth_error_app2, Nat.sub_diag by lia. reflexivity.
    - intros (p & I & R). apply path_app in R as (r & R & K). exists r. split.
      + apply H. exists p. split; auto. eapply path_earlier; [|exact R]. rewrite rev_length. lia.
      + rewrite path_cons in K. destruct K as (u & r' & E & K & N). apply path_nil in N. subst r'.
        rewrite L, <- rev_length, nth_error_app2, Nat.sub_diag in E by lia. cbn in E. now injection E as ->.
  Qed.

  Lemma next_steps t m U V : next B t m U = Some V -> V = steps A dec t m U.
  Proof. unfold B, subsets; cbn [next]. destruct (steps A dec t m U); congruence. Qed.

  Lemma start_states s : states_after s (length s) [] (start_set A).
  Proof.
    intros q. rewrite StrategyProofs.in_start_set by auto. split.
    - intros I. exists q. now rewrite path_nil.
    - intros (p & I & H). apply path_nil in H. now subst.
  Qed.

  Lemma rev_taken i ms m j P : P = rev (taken_from i ms) -> j = i + length ms ->
    take_at m j P = rev (taken_from i (ms ++ [m])).
  Proof.
    intros -> ->. rewrite taken_from_app, rev_app_distr. now destruct m.
  Qed.

  Lemma open_sound s i P U : open B s (i, P) U ->
    exists ms, ms <> [] /\ i + length ms = length s /\ P = rev (taken_from i ms) /\ states_after s i ms U.
  Proof.
    revert i P U; induction s as [|t s IH]; intros i P U H; [inversion H|].
    apply AlgorithmProofs.open_cons in H as [(m & N & E)|(m & i' & P' & V & H & N & E)];
      pose proof (f_equal fst E) as Ei; pose proof (f_equal snd E) as EP; cbn in Ei, EP; apply next_steps in N; subst.
    - exists [m]. split; [easy|]. split; [cbn; lia|]. split; [apply (rev_taken _ []); cbn; auto|].
      apply (step_states t s (length s) [] m); [cbn; lia | apply start_states].
    - destruct (IH _ _ _ H) as (ms & N & L & EP & HV). exists (ms ++ [m]).
      split; [now destruct ms|]. split; [rewrite app_length; cbn; lia|].
      split; [now apply rev_taken | now apply step_states].
  Qed.

  Lemma open_complete s : forall i ms p q, ms <> [] -> i + length ms = length s ->
    initial A p = true -> path A (rev s) i p ms q ->
    exists U, open B s (i, rev (taken_from i ms)) U /\ In q U.
  Proof.
    induction s as [|t s IH]; intros i ms p q N L I H; [destruct ms; cbn in L; [easy | lia]|].
    destruct (exists_last N) as (ms' & m & ->). rewrite app_length in L; cbn in L.
    assert (L' : i + length ms' = length s) by lia.
    pose proof H as H'. cbn [rev] in H. apply path_app in H as (r & R & _).
    apply path_earlier in R; [|rewrite rev_length; lia].
    assert (X : forall U, states_after s i ms' U -> In q (steps A dec t m U)).
    { intros U HU. apply (step_states t s i ms' m U L' HU). eauto. }
    assert (Y : forall U, states_after s i ms' U -> next B t m U = Some (steps A dec t m U)).
    { intros U HU. specialize (X U HU). cbn. destruct (steps A dec t m U); easy. }
    rewrite <- (rev_taken i ms' m (length s) _ eq_refl) by lia.
    destruct ms' as [|m' ms'].
    - cbn in L'. assert (i = length s) as -> by lia. exists (steps A dec t m (start_set A)).
      split; [|apply X, start_states]. apply AlgorithmProofs.open_cons. left. exists m.
      split; auto. apply Y, start_states.
    - destruct (IH i (m' :: ms') p r) as (U & HU & _); auto; [easy|].
      destruct (open_sound _ _ _ _ HU) as (ms & N' & L'' & E & HS).
      assert (ms = m' :: ms') as ->.
      { apply (f_equal (@rev nat)) in E. rewrite !rev_involutive in E.
        assert (len : length ms = length (m' :: ms')) by lia. clear -E len.
        revert i E len. generalize (m' :: ms'). induction ms as [|a ms IH]; intros [|b l] i E len; try easy.
        injection len as len.
        assert (F : forall k ns, ~ In i (taken_from (1 + k) ns) \/ k < i).
        { intros k ns. destruct (Nat.lt_ge_cases k i) as [L|L]; auto. left. revert k L.
          induction ns as [|[] ns IHn]; intros k H I; cbn in I; [easy | destruct I as [I|I]; [lia|] |];
            eapply IHn; try exact I; lia. }
        destruct a, b; cbn in E.
        - f_equal. injection E as E. eauto.
        - exfalso. destruct (F i l) as [X|X]; [apply X; cbn; rewrite E; now left | lia].
        - exfalso. destruct (F i ms) as [X|X]; [apply X; cbn; rewrite <- E; now left | lia].
        - f_equal. eauto. }
      exists (steps A dec t m U). split; [|auto]. apply AlgorithmProofs.open_cons. right.
      exists m, i, (rev (taken_from i (m' :: ms'))), U. auto.
  Qed.
End Subsets.

Lemma marked_listed {D} (A : vcea D) : well_formed A -> listed (marked A).
Proof.
  intros [_ W]. split.
  - intros [q|] I; [easy | now left].
  - intros p P m y I. right. cbn in I. unfold from_initial in I. members.
    destruct I as [([[[p' P'] L] q] & E & I)|([[[p' P'] L] q] & E & I)]; exists q;
      injection E as _ _ _ <-; split; auto; [|members; destruct I as [I _]]; now apply W in I.
Qed.

Definition narrow (width : option nat) (C : complex_event) : Prop :=
  match width with Some n => snd (fst C) - fst (fst C) <= n | None => True end.

Lemma answer_within {D} (evs : stream D) width phi C :
  answer evs (optional within_events width phi) C <-> answer evs phi C /\ narrow width C.
Proof.
  unfold answer. destruct width as [n|]; cbn; [|tauto]. split.
  - intros (V & (sat & F) & ->). eauto.
  - intros ((V & sat & ->) & F). exists V. auto.
Qed.

Lemma tecs_narrow {D} width (evs : stream D) phi C : regular phi = true ->
  In C (tecs_answers width evs phi) <-> answer evs phi C /\ narrow width C.
Proof.
  intros reg. rewrite (marked_correct evs phi C reg). unfold tecs_answers, tecs_outputs.
  set (A := marked (compile phi)). set (dec := marked_dec phi).
  assert (all_listed : listed A) by apply marked_listed, compile_well_formed.
  rewrite in_flat_map. split.
  - intros (j & J & H). apply in_seq in J. apply in_map_iff in H as ([i P] & <- & H).
    apply AlgorithmProofs.outputs_correct in H as (lowest & U & F & O).
    destruct (open_sound A dec all_listed _ _ _ _ O) as (ms & N & L & -> & HU).
    rewrite rev_length, firstn_length_le in L by lia. cbn in F. apply existsb_exists in F as (q & I & F).
    apply HU in I as (p & I & R). rewrite rev_involutive in R. split; [|destruct width; cbn in *; [lia | auto]].
    exists i, ms. split.
    + split; auto. exists p, q. repeat split; auto. rewrite <- (firstn_skipn (1 + j) evs). now apply path_later.
    + unfold of_marks. rewrite rev_involutive. f_equal. f_equal. lia.
  - intros ((i & ms & (N & p & q & I & F & R) & ->) & narrow). exists (i + length ms - 1).
    pose proof R as R'. apply path_stop in R' as [|L]; [easy|].
    assert (0 < length ms) by (destruct ms; [easy | cbn; lia]).
    split; [apply in_seq; lia|]. apply in_map_iff. exists (i, rev (taken_from i ms)).
    split; [unfold of_marks; now rewrite rev_involutive|].
    apply AlgorithmProofs.outputs_correct. split; [destruct width; cbn in *; lia|].
    replace (1 + (i + length ms - 1)) with (i + length ms) by lia.
    destruct (open_complete A dec all_listed (rev (firstn (i + length ms) evs)) i ms p q) as (U & O & K); auto.
    + rewrite rev_length, firstn_length_le; lia.
    + rewrite rev_involutive. eapply (path_earlier A _ (skipn (i + length ms) evs)).
      * rewrite firstn_length_le; lia.
      * now rewrite firstn_skipn.
    + exists U. split; auto. cbn. apply existsb_exists. eauto.
Qed.

Theorem tecs_answers_correct {D} width (evs : stream D) phi C : regular phi = true ->
  In C (tecs_answers width evs phi) <-> answer evs (optional within_events width phi) C.
Proof. intros reg. now rewrite answer_within, tecs_narrow. Qed.

(** CORE Thm. 2 with WITHIN in events. *)
Theorem marked_within {D} width (evs : stream D) phi C : regular phi = true ->
  answer evs (optional within_events width phi) C <-> exists i ms,
    accepted (marked (compile phi)) evs i ms /\ match width with Some n => length ms - 1 <= n | None => True end /\
    C = of_marks i ms.
Proof.
  intros reg. rewrite answer_within, marked_correct by auto.
  assert (E : forall i ms, accepted (marked (compile phi)) evs i ms ->
    (narrow width (of_marks i ms) <-> match width with Some n => length ms - 1 <= n | None => True end)).
  { intros i ms (N & _). destruct width as [n|]; cbn; [|tauto]. destruct ms; [easy | cbn; lia]. }
  split.
  - intros ((i & ms & A & ->) & F). exists i, ms. rewrite <- (E i ms A). auto.
  - intros (i & ms & A & F & ->). rewrite (E i ms A). eauto.
Qed.

Theorem tecs_answers_once {D} width (evs : stream D) phi : NoDup (tecs_answers width evs phi).
Proof.
  apply AlgorithmProofs.NoDup_flat_map; [apply seq_NoDup | |].
  - intros j _. apply FinFun.Injective_map_NoDup; [|apply AlgorithmProofs.outputs_once].
    intros [i P] [i' P'] E. injection E as -> E. apply (f_equal (@rev nat)) in E.
    rewrite !rev_involutive in E. now subst.
  - intros j j' C _ _ H H'. apply in_map_iff in H as ([i P] & <- & _).
    apply in_map_iff in H' as ([i' P'] & E & _). now injection E as _ <- _.
Qed.
