(** Formulas and their automata have the same valuations (CORE Thm. 2). *)

Require Import Mechanised.Tactics Mechanised.EvaluateProofs.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics Mechanised.Automaton.
Require Import Mechanised.Evaluate Mechanised.Compile.

(** * Valuations as rows *)

Lemma map_nth_seq (l : list labels) s : map (fun i => nth (i - s) l none) (seq s (length l)) = l.
Proof.
  revert s; induction l as [|L l IH]; intros s; cbn; auto. rewrite Nat.sub_diag. f_equal.
  rewrite <- (IH (S s)) at 2. apply map_ext_in. intros i H. apply in_seq in H.
  replace (i - s) with (S (i - S s)) by lia. reflexivity.
Qed.

Lemma nth_repeat_none k n : nth k (repeat none n) none = none.
Proof. revert k; induction n as [|n IH]; intros [|k]; cbn; auto. Qed.

(** Where one valuation is before another, their union is one row after the other. *)
Lemma union_before V W : row V <> [] -> row W <> [] -> before V W ->
  union V W = Valuation (first V) (row V ++ repeat none (first W - stop V) ++ row W).
Proof.
  intros HV HW B. pose proof (proper_stop _ HV). pose proof (proper_stop _ HW).
  unfold union, before, stop in *. rewrite Nat.min_l, Nat.max_r by lia. f_equal.
  set (l := row V ++ _). rewrite <- (map_nth_seq l (first V)).
  replace (length l) with (first W + length (row W) - first V)
    by (unfold l; rewrite !app_length, repeat_length; lia).
  apply map_ext_in. intros i I. apply in_seq in I. unfold l, at_position, both.
  rewrite (proj2 (Nat.leb_le (first V) i)) by lia.
  destruct (Nat.lt_ge_cases i (first V + length (row V))).
  - rewrite app_nth1 by lia. rewrite (proj2 (Nat.leb_gt (first W) i)) by lia. apply N.lor_0_r.
  - rewrite app_nth2 by lia. rewrite (nth_overflow (row V)) by lia.
    destruct (first W <=? i) eqn:E; reflect.
    + rewrite app_nth2 by (rewrite repeat_length; lia). rewrite repeat_length.
      cbn. f_equal. lia.
    + rewrite app_nth1 by (rewrite repeat_length; lia). rewrite nth_repeat_none. reflexivity.
Qed.

(** * Paths *)

Section Paths.
  Context {D M : Type} (evs : stream D).

  Lemma path_nil (A : automaton D M) i p q : path A evs i p [] q <-> p = q.
  Proof. split; [now inversion 1 | intros ->; constructor]. Qed.

  Lemma path_cons (A : automaton D M) i p m ms r : path A evs i p (m :: ms) r <->
    exists t q, nth_error evs i = Some t /\ step A t m p q /\ path A evs (1 + i) q ms r.
  Proof. split; [inversion 1; subst; eauto | intros (t & q & ? & ? & ?); econstructor; eauto]. Qed.

  Lemma path_app (A : automaton D M) ms1 ms2 r : forall i p, path A evs i p (ms1 ++ ms2) r <->
    exists q, path A evs i p ms1 q /\ path A evs (i + length ms1) q ms2 r.
  Proof.
    induction ms1 as [|m ms1 IH]; cbn; intros i p.
    - rewrite Nat.add_0_r. split; [intros H; exists p; rewrite path_nil; auto|].
      intros (q & H & ?). apply path_nil in H. now subst.
    - rewrite path_cons. split.
      + intros (t & q & E & H & R). apply IH in R as (q' & ? & ?). exists q'.
        rewrite path_cons, <- plus_n_Sm. eauto 6.
      + intros (q & H & R). rewrite path_cons in H. destruct H as (t & q' & E & H & H').
        exists t, q'. repeat split; auto. apply IH. exists q. split; auto. now rewrite <- plus_n_Sm in R.
  Qed.

  Lemma path_stop (A : automaton D M) i p ms q :
    path A evs i p ms q -> ms = [] \/ i + length ms <= length evs.
  Proof.
    induction 1 as [i p | i p t m q ms r E T R IH]; cbn; auto. right. apply nth_error_length in E.
    destruct IH as [->|]; cbn; lia.
  Qed.
End Paths.

Lemma accepted_cons {D M} (A : automaton D M) evs i t m p q ms r : nth_error evs i = Some t ->
  initial A p = true -> step A t m p q -> path A evs (1 + i) q ms r -> final A r = true ->
  accepted A evs i (m :: ms).
Proof.
  intros E I H R F. split; [easy|]. exists p, r. split; [|split]; auto.
  apply path_cons. exists t, q. auto.
Qed.

(** A path of one automaton as a path of another whose steps from related states are the same. *)
Lemma path_embed {D M} (A B : automaton D M) (evs : stream D) (f : state A -> state B) :
  (forall t m p y, step B t m (f p) y <-> exists q, y = f q /\ step A t m p q) ->
  forall ms i p y, path B evs i (f p) ms y <-> exists q, y = f q /\ path A evs i p ms q.
Proof.
  intros HS ms; induction ms as [|m ms IH]; intros i p y.
  - split; [intros H; apply path_nil in H; subst; exists p; split; auto; now apply path_nil|].
    intros (q & -> & H). apply path_nil in H. subst. now apply path_nil.
  - rewrite path_cons. split.
    + intros (t & x & E & H & R). apply HS in H as (q & -> & H). apply IH in R as (r & -> & R).
      exists r. split; auto. rewrite path_cons. eauto.
    + intros (q & -> & H). rewrite path_cons in H. destruct H as (t & x & E & H & R).
      exists t, (f x). repeat split; auto; [apply HS | apply IH]; eauto.
Qed.

Ltac tuples := repeat match goal with
  | x : transition _ _ _ |- _ => destruct x as [[[? ?] ?] ?]
  | x : prod (prod (prod _ _) _) _ |- _ => destruct x as [[[? ?] ?] ?]
  end.
Ltac transitions := cbn in *; unfold into_final, from_initial, starts, lefts, rights in *;
  repeat (members; break; tuples; break).

(** What is known of the states of a transition that is among the hypotheses. *)
Ltac use_delta H := match goal with I : In (_, _, _, _) (delta _) |- _ => apply H in I end.

Lemma step_initial {D M} (A : automaton D M) t m p q :
  well_formed A -> step A t m p q -> initial A q = false.
Proof. intros [_ H] (P & I & _). now apply H in I. Qed.

Lemma in_starts {D M} (A : automaton D M) p :
  well_formed A -> In p (starts A) <-> initial A p = true.
Proof.
  intros [H _]. unfold starts. rewrite filter_In. split; [tauto|]. intros I. now destruct (H p I).
Qed.

(** * The constructions, one by one *)

Lemma well_formed_single {D} (P : predicate D) L : well_formed (single P L).
Proof. split; cbn; [intros []; auto|]. intros p Q m q [H|[]]. injection H; intros; subst. auto. Qed.

Lemma accepted_single {D} (P : predicate D) L evs i ms : accepted (single P L) evs i ms <->
  exists t, nth_error evs i = Some t /\ P t = true /\ ms = [L].
Proof.
  split.
  - intros (N & p & q & I & F & H). destruct ms as [|m ms]; [easy|].
    rewrite path_cons in H. destruct H as (t & r & E & (Q & T & QT) & R).
    cbn in T. destruct T as [T|[]]. injection T; intros; subst. exists t. repeat split; auto.
    destruct ms as [|m' ms]; auto. rewrite path_cons in R.
    destruct R as (u & r & _ & (Q' & T' & _) & _). cbn in T'. destruct T' as [T'|[]]. discriminate.
  - intros (t & E & H & ->). split; [easy|]. exists false, true. repeat split; auto.
    rewrite path_cons. exists t, true. repeat split; auto; [|now apply path_nil].
    exists P. split; cbn; auto.
Qed.

Lemma step_relabelled {D} f (A : vcea D) t m p q :
  step (relabelled f A) t m p q <-> exists L, m = f L /\ step A t L p q.
Proof.
  unfold step. split.
  - intros (P & H & T). transitions. eauto.
  - intros (L & -> & P & H & T). exists P. split; auto. transitions. now exists (p, P, L, q).
Qed.

Lemma path_relabelled {D} f (A : vcea D) evs ms : forall i p q,
  path (relabelled f A) evs i p ms q <-> exists Ls, ms = map f Ls /\ path A evs i p Ls q.
Proof.
  induction ms as [|m ms IH]; intros i p q.
  - split; [intros H; apply path_nil in H; subst; exists []; split; auto; now apply path_nil|].
    intros ([|] & H & P); [|easy]. apply path_nil in P; subst; now apply path_nil.
  - rewrite path_cons. split.
    + intros (t & r & E & H & R). apply step_relabelled in H as (L & -> & H).
      apply IH in R as (Ls & -> & R). exists (L :: Ls). split; auto. rewrite path_cons. eauto.
    + intros ([|L Ls] & E & H); [easy|]. injection E; intros; subst. rewrite path_cons in H.
      destruct H as (t & r & E' & H & R). exists t, r. repeat split; auto.
      * apply step_relabelled. eauto.
      * apply IH. eauto.
Qed.

Lemma well_formed_relabelled {D} f (A : vcea D) : well_formed A -> well_formed (relabelled f A).
Proof.
  intros [H H']. split; auto. intros p P m q I. transitions. eauto.
Qed.

Lemma accepted_relabelled {D} f (A : vcea D) evs i ms :
  accepted (relabelled f A) evs i ms <-> exists Ls, ms = map f Ls /\ accepted A evs i Ls.
Proof.
  split.
  - intros (N & p & q & I & F & H). apply path_relabelled in H as (Ls & -> & H).
    exists Ls. split; auto. split; [now destruct Ls|]. exists p, q. auto.
  - intros (Ls & -> & N & p & q & I & F & H). split; [now destruct Ls|].
    exists p, q. repeat split; auto. apply path_relabelled. eauto.
Qed.

(** FILTER *)

Definition permitted {D} (c : condition D) (evs : stream D) i ms :=
  forall k t m, nth_error ms k = Some m -> nth_error evs (i + k) = Some t -> permits c m t = true.

Lemma at_position_row V k L : nth_error (row V) k = Some L -> at_position V (first V + k) = L.
Proof.
  intros H. unfold at_position. rewrite (proj2 (Nat.leb_le _ _)) by lia.
  replace (first V + k - first V) with k by lia. now apply nth_error_nth.
Qed.

Lemma at_label_row V X i : at_label V X i = true ->
  exists k L, i = first V + k /\ nth_error (row V) k = Some L /\ has X L = true.
Proof.
  unfold at_label, at_position. destruct (first V <=? i) eqn:E; reflect; [|cbn; discriminate].
  intros H. exists (i - first V), (nth (i - first V) (row V) none). repeat split; auto; [lia|].
  apply nth_error_nth'. destruct (Nat.lt_ge_cases (i - first V) (length (row V))); auto.
  rewrite nth_overflow in H by auto. unfold has, none in H. now rewrite N.bits_0 in H.
Qed.

Lemma in_events_at {D} (evs : stream D) V X t : In t (events_at evs V X) <->
  exists i, at_label V X i = true /\ nth_error evs i = Some t.
Proof.
  unfold events_at, where_. rewrite in_flat_map. split.
  - intros (i & I & H). apply filter_In in I as [_ I]. exists i. split; auto.
    destruct (nth_error evs i); [|easy]. destruct H as [->|[]]. reflexivity.
  - intros (i & HX & E). exists i. rewrite E. split; [|now left]. apply filter_In. split; auto.
    apply at_label_row in HX as (k & L & -> & HL & _). apply in_seq.
    apply nth_error_length in HL. lia.
Qed.

Lemma permitted_holds {D} (c : condition D) evs V : unary c = true ->
  holds evs V c <-> permitted c evs (first V) (row V).
Proof.
  unfold permitted. induction c as [[P|P] [|X [|Y Xs]] | c IHc d IHd | c IHc d IHd]; cbn; intros U; try discriminate.
  - split.
    + intros H k t L HL Ht. rewrite implb_true. intros HX. apply H. repeat constructor.
      apply in_events_at. exists (first V + k). split; auto.
      unfold at_label. now rewrite (at_position_row _ _ _ HL).
    + intros H ts F. inversion F as [|t ? us ? I N]; subst. inversion N; subst.
      apply in_events_at in I as (i & HX & Ht). apply at_label_row in HX as (k & L & -> & HL & HX).
      specialize (H k t L HL Ht). rewrite implb_true in H. auto.
  - reflect. destruct U as [U1 U2]. rewrite IHc, IHd by auto. split.
    + intros [H1 H2] k t L HL Ht. rewrite (H1 k t L), (H2 k t L); auto.
    + intros H. split; intros k t L HL Ht; specialize (H k t L HL Ht); now reflect.
Qed.

Lemma step_filtered {D} (c : condition D) (A : vcea D) t m p q :
  step (filtered c A) t m p q <-> step A t m p q /\ permits c m t = true.
Proof.
  unfold step. split.
  - intros (P & H & T). transitions. reflect. break. eauto.
  - intros ((P & H & T) & C). eexists. split.
    + cbn. members. exists (p, P, m, q). split; auto.
    + cbn. now rewrite T, C.
Qed.

Lemma path_filtered {D} (c : condition D) (A : vcea D) evs ms : forall i p q,
  path (filtered c A) evs i p ms q <-> path A evs i p ms q /\ permitted c evs i ms.
Proof.
  induction ms as [|m ms IH]; intros i p q.
  - split; [|now intros [H _]; apply path_nil in H; subst; constructor].
    intros H. apply path_nil in H. subst. split; [now apply path_nil|]. intros []; discriminate.
  - rewrite !path_cons. split.
    + intros (t & r & E & H & R). apply step_filtered in H as [H C]. apply IH in R as [R K].
      split; [eauto|]. intros [|k] u L HL Hu; cbn in HL.
      * rewrite Nat.add_0_r in Hu. congruence.
      * apply (K k); auto. now rewrite <- plus_n_Sm in Hu.
    + intros [(t & r & E & H & R) C]. exists t, r. repeat split; auto.
      * apply step_filtered. split; auto. apply (C 0); auto. now rewrite Nat.add_0_r.
      * apply IH. split; auto. intros k u L HL Hu. apply (C (1 + k)); auto. now rewrite <- plus_n_Sm.
Qed.

Lemma well_formed_filtered {D} (c : condition D) (A : vcea D) :
  well_formed A -> well_formed (filtered c A).
Proof.
  intros [H H']. split; auto. intros p P m q I. transitions. eauto.
Qed.

Lemma accepted_filtered {D} (c : condition D) (A : vcea D) evs i ms :
  accepted (filtered c A) evs i ms <-> accepted A evs i ms /\ permitted c evs i ms.
Proof.
  unfold accepted. split.
  - intros (N & p & q & I & F & H). apply path_filtered in H as [H K]. eauto 9.
  - intros [(N & p & q & I & F & H) K]. split; auto. exists p, q. repeat split; auto.
    apply path_filtered. auto.
Qed.

(** OR *)

Lemma step_choice_left {D} (A B : vcea D) t m p y :
  step (choice A B) t m (inl p) y <-> exists q, y = inl q /\ step A t m p q.
Proof.
  unfold step. split.
  - intros (P & H & T). transitions. destruct H as [H|H]; transitions; eauto.
  - intros (q & -> & P & H & T). exists P. split; auto. cbn. members. left. members.
    now exists (p, P, m, q).
Qed.

Lemma step_choice_right {D} (A B : vcea D) t m p y :
  step (choice A B) t m (inr p) y <-> exists q, y = inr q /\ step B t m p q.
Proof.
  unfold step. split.
  - intros (P & H & T). transitions. destruct H as [H|H]; transitions; eauto.
  - intros (q & -> & P & H & T). exists P. split; auto. cbn. members. right. members.
    now exists (p, P, m, q).
Qed.

Lemma well_formed_choice {D} (A B : vcea D) :
  well_formed A -> well_formed B -> well_formed (choice A B).
Proof.
  intros [H H'] [K K']. split.
  - intros [p|p] I; cbn in *; members; [apply H in I | apply K in I]; break; split; auto;
      [left | right]; members; eauto.
  - intros p P m q I. cbn in I. members. destruct I as [I|I]; transitions;
      cbn; members; [use_delta H' | use_delta K']; break; repeat split; auto;
      [left | left | right | right]; members; eauto.
Qed.

Lemma accepted_choice {D} (A B : vcea D) evs i ms :
  accepted (choice A B) evs i ms <-> accepted A evs i ms \/ accepted B evs i ms.
Proof.
  unfold accepted. split.
  - intros (N & [p|p] & y & I & F & H); [left | right]; split; auto;
      (eapply path_embed in H as (q & -> & H); [|apply step_choice_left || apply step_choice_right]); cbn in *; eauto.
  - intros [(N & p & q & I & F & H)|(N & p & q & I & F & H)]; split; auto;
      [exists (inl p), (inl q) | exists (inr p), (inr q)]; repeat split; auto;
      (eapply path_embed; [apply step_choice_left || apply step_choice_right | eauto]).
Qed.

(** Sequences: a run of the first part, waiting in an initial state of the second, a run of it. *)

Section Sequence.
  Context {D : Type} (gap : bool) (A B : vcea D) (evs : stream D).
  Hypothesis wfA : well_formed A.
  Hypothesis wfB : well_formed B.
  Let C := sequence gap A B.

  Lemma step_sequence_right t m p y : step C t m (inr p) y <->
    (exists q, y = inr q /\ step B t m p q) \/
    (gap = true /\ initial B p = true /\ y = inr p /\ m = none).
  Proof.
    unfold step. split.
    - intros (P & H & T). cbn in H. members.
      destruct H as [H|[H|[H|H]]]; transitions; eauto 8.
      destruct gap; transitions; auto.
    - intros [(q & -> & P & H & T)|(G & I & -> & ->)].
      + exists P. split; auto. cbn. members. right. left. members. now exists (p, P, m, q).
      + exists always. split; auto. cbn. members. right. right. left. rewrite G. members. exists p.
        now rewrite in_starts.
  Qed.

  Lemma step_sequence_left t m p y : step C t m (inl p) y <->
    (exists q, y = inl q /\ step A t m p q) \/
    (exists f q, step A t m p f /\ final A f = true /\ initial B q = true /\ y = inr q).
  Proof.
    unfold step. split.
    - intros (P & H & T). cbn in H. members.
      destruct H as [H|[H|[H|H]]]; transitions; eauto 8.
      + destruct gap; transitions.
      + right. eauto 9.
    - intros [(q & -> & P & H & T)|(f & q & (P & H & T) & F & I & ->)]; exists P; split; auto; cbn; members.
      + left. members. now exists (p, P, m, q).
      + right. right. right. members. exists (p, P, m, f). unfold into_final. members. split; auto.
        members. exists q. now rewrite in_starts.
  Qed.

  (** Past the initial states the second part runs alone. *)
  Lemma path_sequence_second ms : forall i p y, initial B p = false ->
    path C evs i (inr p) ms y <-> exists q, y = inr q /\ path B evs i p ms q.
  Proof.
    induction ms as [|m ms IH]; intros i p y N.
    - rewrite path_nil. split; [intros <-; exists p; now rewrite path_nil|].
      intros (q & -> & H). apply path_nil in H. now subst.
    - rewrite path_cons. split.
      + intros (t & x & E & H & R). apply step_sequence_right in H as [(q & -> & H)|(_ & H & _)]; [|congruence].
        apply IH in R as (r & -> & R); [|eauto using step_initial]. exists r. rewrite path_cons. eauto 6.
      + intros (r & -> & H). rewrite path_cons in H. destruct H as (t & q & E & H & R).
        exists t, (inr q). repeat split; auto; [apply step_sequence_right; eauto|].
        apply IH; eauto using step_initial.
  Qed.

  Lemma path_sequence_waiting ms : forall i p q, initial B p = true -> final B q = true ->
    path C evs i (inr p) ms (inr q) -> exists g rest, ms = repeat none g ++ rest /\
      (gap = true \/ g = 0) /\ accepted B evs (i + g) rest.
  Proof.
    induction ms as [|m ms IH]; intros i p q I F H.
    { apply path_nil in H. break. apply wfB in I. destruct I. congruence. }
    rewrite path_cons in H. destruct H as (t & x & E & H & R).
    apply step_sequence_right in H as [(q' & -> & H)|(G & _ & -> & ->)].
    - exists 0, (m :: ms). repeat split; auto; [easy|]. rewrite Nat.add_0_r.
      exists p, q. repeat split; auto. apply path_sequence_second in R as (q'' & Q & R);
        [|eauto using step_initial]. break. rewrite path_cons. eauto 6.
    - destruct (IH _ _ _ I F R) as (g & rest & -> & _ & K).
      exists (1 + g), rest. split; [reflexivity|]. split; auto.
      now replace (i + (1 + g)) with (1 + i + g) by lia.
  Qed.

  Lemma path_sequence_first ms : forall i p q, path C evs i (inl p) ms (inr q) ->
    exists ms1 ms2 f p', ms = ms1 ++ ms2 /\ ms1 <> [] /\ path A evs i p ms1 f /\ final A f = true /\
      initial B p' = true /\ path C evs (i + length ms1) (inr p') ms2 (inr q).
  Proof.
    induction ms as [|m ms IH]; intros i p q H; [apply path_nil in H; break|].
    rewrite path_cons in H. destruct H as (t & x & E & H & R).
    apply step_sequence_left in H as [(q' & -> & H)|(f & q' & H & F & I & ->)].
    - destruct (IH _ _ _ R) as (ms1 & ms2 & f & p' & -> & N & P & F & I & R').
      exists (m :: ms1), ms2, f, p'. repeat split; auto; [easy | rewrite path_cons; eauto|].
      cbn. now rewrite <- plus_n_Sm.
    - exists [m], ms, f, q'. repeat split; auto; [easy | rewrite path_cons; exists t, f; rewrite path_nil; auto|].
      cbn. now rewrite Nat.add_1_r.
  Qed.

  Lemma path_sequence_gap g : forall i p, gap = true \/ g = 0 -> initial B p = true ->
    i + g <= length evs -> path C evs i (inr p) (repeat none g) (inr p).
  Proof.
    induction g as [|g IH]; intros i p G I L; [now apply path_nil|]. cbn. apply path_cons.
    destruct (nth_error_found evs i) as [t E]; [lia|]. exists t, (inr p). repeat split; auto.
    - apply step_sequence_right. destruct G; [auto | lia].
    - apply IH; auto; [destruct G; [auto | lia] | lia].
  Qed.

  Lemma path_sequence_last ms : forall i p f q, path A evs i p ms f -> ms <> [] ->
    final A f = true -> initial B q = true -> path C evs i (inl p) ms (inr q).
  Proof.
    induction ms as [|m ms IH]; intros i p f q H N F I; [easy|]. rewrite path_cons in H.
    destruct H as (t & x & E & H & R). apply path_cons. destruct ms as [|m' ms].
    - apply path_nil in R. subst. exists t, (inr q). rewrite path_nil. repeat split; auto.
      apply step_sequence_left. right. eauto 6.
    - exists t, (inl x). repeat split; auto; [apply step_sequence_left; eauto|].
      eapply IH; eauto. easy.
  Qed.

  Lemma well_formed_sequence : well_formed C.
  Proof.
    destruct wfA as [H H'], wfB as [K K']. split.
    - intros [p|p] I; cbn in *; [|easy]. apply H in I. members. split; auto. left. members. destruct I. eauto.
    - intros p P m q I. cbn in I. members. destruct I as [I|[I|[I|I]]]; transitions.
      + use_delta H'. break. repeat split; auto; cbn; members; left; members; eauto.
      + use_delta K'. break. repeat split; auto; cbn; members; right; members; eauto.
      + destruct gap; transitions. repeat split; auto; cbn; members; right; members; eauto.
      + use_delta H'. break. repeat split; auto; cbn; members; [left | right]; members; eauto.
  Qed.

  Lemma accepted_sequence i ms : accepted C evs i ms <->
    exists ms1 g ms2, ms = ms1 ++ repeat none g ++ ms2 /\ (gap = true \/ g = 0) /\
      accepted A evs i ms1 /\ accepted B evs (i + length ms1 + g) ms2.
  Proof.
    split.
    - intros (_ & [p|p] & [y|y] & I & F & H); try easy.
      apply path_sequence_first in H as (ms1 & ms2 & f & p' & -> & N & H & F' & I' & R).
      apply path_sequence_waiting in R as (g & rest & -> & G & K); auto.
      exists ms1, g, rest. split; auto. split; auto.
      split; [split; auto; now exists p, f | auto].
    - intros (ms1 & g & ms2 & -> & G & (N1 & p & f & I & F & H) & (N2 & p' & q & I' & F' & H')).
      split; [now destruct ms1|]. exists (inl p), (inr q). repeat split; auto.
      apply path_app. exists (inr p'). split; [eapply path_sequence_last; eauto|].
      apply path_app. exists (inr p'). rewrite repeat_length. split.
      + apply path_sequence_gap; auto. apply path_stop in H' as [|]; [easy | lia].
      + destruct ms2 as [|m ms2]; [easy|]. rewrite path_cons in H' |- *.
        destruct H' as (t & x & E & H' & R). exists t, (inr x). repeat split; auto.
        * apply step_sequence_right. eauto.
        * apply path_sequence_second; eauto using step_initial.
  Qed.
End Sequence.

(** Iterations: a run that ends an iteration waits, and begins the next from any initial state. *)

Inductive iterations (gap : bool) (once : nat -> list labels -> Prop) : nat -> list labels -> Prop :=
| last_one i ms : once i ms -> iterations gap once i ms
| one_more i ms1 g ms2 : once i ms1 -> gap = true \/ g = 0 ->
    iterations gap once (i + length ms1 + g) ms2 ->
    iterations gap once i (ms1 ++ repeat none g ++ ms2).

Section Iteration.
  Context {D : Type} (gap : bool) (A : vcea D) (evs : stream D).
  Hypothesis wfA : well_formed A.
  Let C := iterated gap A.

  Lemma step_iterated_some t m p y : step C t m (Some p) y <->
    exists q, step A t m p q /\ (y = Some q \/ (final A q = true /\ y = None)).
  Proof.
    unfold step. split.
    - intros (P & H & T). cbn in H. members.
      destruct H as [H|[H|[H|[H|H]]]]; transitions; eauto 8. destruct gap; transitions.
    - intros (q & (P & H & T) & [->|[F ->]]); exists P; split; auto; cbn; members.
      + left. members. now exists (p, P, m, q).
      + right. right. left. members. exists (p, P, m, q). unfold into_final. now members.
  Qed.

  Lemma step_iterated_none t m y : step C t m None y <-> (gap = true /\ m = none /\ y = None) \/
    exists p q, initial A p = true /\ step A t m p q /\ (y = Some q \/ (final A q = true /\ y = None)).
  Proof.
    unfold step. split.
    - intros (P & H & T). cbn in H. members.
      destruct H as [H|[H|[H|[H|H]]]]; transitions;
        try (right; do 2 eexists; split; [eassumption | split; [eauto | auto]]).
      destruct gap; transitions; auto.
    - intros [(G & -> & ->)|(p & q & I & (P & H & T) & [->|[F ->]])].
      + exists always. split; auto. cbn. members. right. left. rewrite G. now left.
      + exists P. split; auto. cbn. members. do 3 right. left. members. exists (p, P, m, q).
        unfold from_initial. now members.
      + exists P. split; auto. cbn. members. do 4 right. members. exists (p, P, m, q).
        unfold into_final. now members.
  Qed.

  Lemma path_iterated_some ms : forall i p q, path C evs i (Some p) ms (Some q) ->
    path A evs i p ms q \/ exists ms1 ms2 f, ms = ms1 ++ ms2 /\ ms1 <> [] /\ path A evs i p ms1 f /\
      final A f = true /\ path C evs (i + length ms1) None ms2 (Some q).
  Proof.
    induction ms as [|m ms IH]; intros i p q H; [left; apply path_nil in H; break; now apply path_nil|].
    rewrite path_cons in H. destruct H as (t & x & E & H & R).
    apply step_iterated_some in H as (q' & H & [->|[F ->]]).
    - destruct (IH _ _ _ R) as [K|(ms1 & ms2 & f & -> & N & K & F & R')].
      + left. apply path_cons. eauto.
      + right. exists (m :: ms1), ms2, f. repeat split; auto; [easy | apply path_cons; eauto|].
        cbn. now rewrite <- plus_n_Sm.
    - right. exists [m], ms, q'. repeat split; auto; [easy | |cbn; now rewrite Nat.add_1_r].
      apply path_cons. exists t, q'. now rewrite path_nil.
  Qed.

  Lemma path_iterated_none n : forall i ms q, length ms <= n -> final A q = true ->
    path C evs i None ms (Some q) -> exists g rest, ms = repeat none g ++ rest /\
      (gap = true \/ g = 0) /\ iterations gap (accepted A evs) (i + g) rest.
  Proof.
    induction n as [|n IH]; intros i ms q L F H;
      (destruct ms as [|m ms]; [apply path_nil in H; discriminate | cbn in L; try lia]).
    rewrite path_cons in H. destruct H as (t & x & E & H & R).
    apply step_iterated_none in H as [(G & -> & ->)|(p & r & I & H & [->|[F' ->]])].
    - destruct (IH (1 + i) ms q) as (g & rest & -> & _ & K); auto; [lia|].
      exists (1 + g), rest. split; auto. split; auto. now replace (i + (1 + g)) with (1 + i + g) by lia.
    - exists 0, (m :: ms). split; auto. split; auto. rewrite Nat.add_0_r.
      apply path_iterated_some in R as [R|(ms1 & ms2 & f & -> & N & R & F' & R')].
      + apply last_one. eapply accepted_cons; eassumption.
      + rewrite app_length in L. assert (L2 : length ms2 <= n) by lia.
        destruct (IH _ _ _ L2 F R') as (g & rest & -> & G & K).
        apply (one_more gap _ i (m :: ms1)); auto.
        * eapply accepted_cons; eassumption.
        * cbn. now replace (i + Datatypes.S (length ms1) + g) with (1 + i + length ms1 + g) by lia.
    - exists 0, (m :: ms). split; auto. split; auto. rewrite Nat.add_0_r.
      destruct (IH (1 + i) ms q) as (g & rest & -> & G & K); auto; [lia|].
      apply (one_more gap _ i [m]); auto.
      + eapply accepted_cons; try eassumption. now apply path_nil.
      + cbn. now replace (i + 1 + g) with (1 + i + g) by lia.
  Qed.

  Lemma path_iterated_inside ms : forall i p q, path A evs i p ms q -> path C evs i (Some p) ms (Some q).
  Proof.
    induction ms as [|m ms IH]; intros i p q H.
    - apply path_nil in H. subst. now apply path_nil.
    - rewrite path_cons in *. destruct H as (t & x & E & H & R). exists t, (Some x).
      repeat split; auto. apply step_iterated_some. eauto.
  Qed.

  Lemma path_iterated_last ms : forall i p q, path A evs i p ms q -> ms <> [] -> final A q = true ->
    path C evs i (Some p) ms None.
  Proof.
    induction ms as [|m ms IH]; intros i p q H N F; [easy|]. rewrite path_cons in *.
    destruct H as (t & x & E & H & R). destruct ms as [|m' ms].
    - apply path_nil in R. subst. exists t, None. rewrite path_nil. repeat split; auto.
      apply step_iterated_some. eauto 6.
    - exists t, (Some x). repeat split; auto; [apply step_iterated_some; eauto|].
      eapply IH; eauto. easy.
  Qed.

  (** A run begins in an initial state or between iterations, and goes on or stops. *)
  Lemma path_iterated_once i ms p q x : accepted A evs i ms -> path A evs i p ms q ->
    initial A p = true -> final A q = true -> x = Some p \/ x = None ->
    path C evs i x ms (Some q) /\ path C evs i x ms None.
  Proof.
    intros [N _] H I F [->| ->]; [eauto using path_iterated_inside, path_iterated_last|].
    destruct ms as [|m ms]; [easy|]. rewrite path_cons in H. destruct H as (t & r & E & H & R).
    split.
    - rewrite path_cons. exists t, (Some r). repeat split; auto using path_iterated_inside.
      apply step_iterated_none. eauto 8.
    - rewrite path_cons. destruct ms as [|m' ms].
      + apply path_nil in R. subst. exists t, None. rewrite path_nil. repeat split; auto.
        apply step_iterated_none. eauto 9.
      + exists t, (Some r). repeat split; auto; [apply step_iterated_none; eauto 8|].
        eapply path_iterated_last; eauto. easy.
  Qed.

  Lemma path_iterated_gap g : forall i, gap = true \/ g = 0 -> i + g <= length evs ->
    path C evs i None (repeat none g) None.
  Proof.
    induction g as [|g IH]; intros i G L; [now apply path_nil|]. cbn. apply path_cons.
    destruct (nth_error_found evs i) as [t E]; [lia|]. exists t, None. repeat split; auto.
    - apply step_iterated_none. destruct G; [auto | lia].
    - apply IH; [destruct G; [auto | lia] | lia].
  Qed.

  Lemma iterations_run i ms : iterations gap (accepted A evs) i ms -> ms <> [] /\ i + length ms <= length evs /\
    exists p q, initial A p = true /\ final A q = true /\
      path C evs i (Some p) ms (Some q) /\ path C evs i None ms (Some q).
  Proof.
    induction 1 as [i ms H | i ms1 g ms2 H G _ (N & L & p & q & I & F & _ & R)].
    - pose proof H as (N & p & q & I & F & R). split; auto. split; [now apply path_stop in R as [|]|].
      exists p, q. repeat split; auto; eapply path_iterated_once; eauto.
    - pose proof H as (N' & p' & q' & I' & F' & R'). split; [now destruct ms1|].
      rewrite !app_length, repeat_length. split; [lia|]. exists p', q.
      assert (X : forall x, x = Some p' \/ x = None ->
        path C evs i x (ms1 ++ repeat none g ++ ms2) (Some q)).
      { intros x X. apply path_app. exists None. split; [eapply path_iterated_once; eauto|].
        apply path_app. exists None. rewrite repeat_length. split; auto.
        apply path_iterated_gap; auto; lia. }
      split; [|split; [|split]]; auto.
  Qed.

  Lemma well_formed_iterated : well_formed C.
  Proof.
    destruct wfA as [H H']. split.
    - intros [p|] I; cbn in *; [|easy]. apply H in I as [I F]. split; auto. right. members. eauto.
    - intros p P m q I. cbn in I. members. destruct I as [I|[I|[I|[I|I]]]]; transitions.
      + use_delta H'. break. repeat split; auto; cbn; right; members; eauto.
      + destruct gap; transitions. repeat split; auto; cbn; auto.
      + use_delta H'. break. repeat split; auto; cbn; auto; right; members; eauto.
      + use_delta H'. break. repeat split; auto; cbn; auto; right; members; eauto.
      + repeat split; auto; cbn; auto.
  Qed.

  Lemma accepted_iterated i ms : accepted C evs i ms <-> iterations gap (accepted A evs) i ms.
  Proof.
    split.
    - intros (N & [p|] & [q|] & I & F & H); try easy.
      apply path_iterated_some in H as [H|(ms1 & ms2 & f & -> & N' & H & F' & R)].
      + apply last_one. split; auto. now exists p, q.
      + eapply path_iterated_none in R as (g & rest & -> & G & K); [|reflexivity|exact F].
        apply one_more; auto. split; auto. now exists p, f.
    - intros H. apply iterations_run in H as (N & _ & p & q & I & F & H & _). split; auto.
      now exists (Some p), (Some q).
  Qed.
End Iteration.

(** * The theorem *)

Lemma compile_well_formed {D} (phi : formula D) : well_formed (compile phi).
Proof.
  induction phi; cbn; auto using well_formed_single, well_formed_relabelled, well_formed_filtered,
    well_formed_choice, well_formed_sequence, well_formed_iterated; split; cbn; easy.
Qed.

Lemma rows_relabelled {D} (evs : stream D) phi A f (psi : formula D) :
  (forall V, V |=[evs] psi <-> exists W, W |=[evs] phi /\ V = relabel f W) ->
  has_rows evs phi A -> has_rows evs psi (relabelled f A).
Proof.
  intros H HA i ms. rewrite H, accepted_relabelled. split.
  - intros ([j Ls] & K & E). injection E; intros; subst. exists Ls. split; auto. now apply HA.
  - intros (Ls & -> & K). exists (Valuation i Ls). split; auto. now apply HA.
Qed.

(** One valuation directly or with a gap before another. *)
Definition follows (gap : bool) (V W : valuation) : Prop :=
  if gap then before V W else adjacent V W.

Lemma union_follows gap V W : row V <> [] -> row W <> [] -> follows gap V W ->
  exists g, (gap = true \/ g = 0) /\ first W = stop V + g /\
    union V W = Valuation (first V) (row V ++ repeat none g ++ row W).
Proof.
  intros HV HW F. exists (first W - stop V).
  assert (B : before V W) by (destruct gap; auto; unfold follows, adjacent, before in *; lia).
  split; [destruct gap; auto; unfold follows, adjacent in *; lia|].
  split; [unfold before in B; lia | now apply union_before].
Qed.

Lemma rows_union gap i ms1 g ms2 : ms1 <> [] -> ms2 <> [] -> gap = true \/ g = 0 ->
  let V := Valuation i ms1 in let W := Valuation (i + length ms1 + g) ms2 in
  follows gap V W /\ union V W = Valuation i (ms1 ++ repeat none g ++ ms2).
Proof.
  intros N1 N2 G V W. assert (F : follows gap V W).
  { unfold follows, before, adjacent, stop; cbn. destruct gap; [lia|]. destruct G; [easy | lia]. }
  split; auto. destruct (union_follows gap V W) as (g' & _ & E & ->); auto.
  unfold stop in E; cbn in *. now replace g' with g by lia.
Qed.

Lemma rows_sequence {D} (evs : stream D) gap phi psi A B i ms :
  has_rows evs phi A -> has_rows evs psi B -> well_formed A -> well_formed B ->
  (exists W1 W2, W1 |=[evs] phi /\ W2 |=[evs] psi /\ follows gap W1 W2 /\ Valuation i ms = union W1 W2) <->
  accepted (sequence gap A B) evs i ms.
Proof.
  intros HA HB WA WB. rewrite accepted_sequence by auto. split.
  - intros (W1 & W2 & H1 & H2 & F & E).
    pose proof (sat_proper _ _ _ H1) as [N1 _]. pose proof (sat_proper _ _ _ H2) as [N2 _].
    destruct (union_follows gap W1 W2) as (g & G & K & U); auto. rewrite U in E.
    injection E; intros; subst. destruct W1 as [j ms1], W2 as [k ms2]; unfold stop in *; cbn in *; subst.
    exists ms1, g, ms2. apply HA in H1. apply HB in H2. auto.
  - intros (ms1 & g & ms2 & -> & G & H1 & H2).
    destruct (rows_union gap i ms1 g ms2) as [F U]; auto; [apply H1 | apply H2|].
    exists (Valuation i ms1), (Valuation (i + length ms1 + g) ms2). rewrite U, (HA _ _), (HB _ _). auto.
Qed.

Lemma rows_iterated {D} (evs : stream D) gap phi A i ms : has_rows evs phi A -> well_formed A ->
  iteration (fun W => W |=[evs] phi) (follows gap) (Valuation i ms) <-> accepted (iterated gap A) evs i ms.
Proof.
  intros HA WA. rewrite accepted_iterated by auto. split.
  - intros H. remember (Valuation i ms) as V eqn:HeqV. revert i ms HeqV.
    induction H as [V H | V W HV HW IH F]; intros i ms E; subst; [now apply last_one, HA|].
    pose proof (sat_proper _ _ _ HV) as [N1 _].
    pose proof (proper_iteration evs _ _ _ (sat_proper evs phi) HW) as [N2 _].
    destruct (union_follows gap V W) as (g & G & K & U); auto. rewrite U in E.
    injection E; intros; subst. destruct V as [j ms1], W as [k ms2]; unfold stop in *; cbn in *; subst.
    apply one_more; auto. now apply HA.
  - induction 1 as [i ms H | i ms1 g ms2 H G K IH]; [now apply one, HA|].
    destruct (rows_union gap i ms1 g ms2) as [F U]; auto; [apply H | |].
    + now apply iterations_run in K.
    + rewrite <- U. apply more; auto. now apply HA.
Qed.

Theorem compile_correct {D} (evs : stream D) (phi : formula D) :
  regular phi = true -> has_rows evs phi (compile phi).
Proof.
  induction phi as [R | phi IHphi X | phi IHphi c | phi1 IHphi1 phi2 IHphi2 | phi1 IHphi1 phi2 IHphi2 | phi1 IHphi1 phi2 IHphi2
    | phi1 IHphi1 phi2 IHphi2 | phi IHphi | phi IHphi | L phi IHphi | X Y phi IHphi | phi1 IHphi1 phi2 IHphi2
    | phi1 IHphi1 phi2 IHphi2 | phi IHphi | s phi IHphi | phi IHphi w];
    cbn; intros reg; try discriminate.
  - (* R *) intros i ms. rewrite accepted_single. cbn. split.
    + intros (j & t & E & T & V). injection V; intros; subst. exists t. now rewrite N.eqb_refl.
    + intros (t & E & T & ->). exists i, t. reflect. auto.
  - (* AS *) eapply rows_relabelled; [|now apply IHphi]. reflexivity.
  - (* FILTER *) reflect. destruct reg as [reg U]. intros i ms. rewrite accepted_filtered. cbn.
    rewrite (IHphi reg i ms). now rewrite (permitted_holds c evs (Valuation i ms)).
  - (* OR *) reflect. destruct reg as [R1 R2]. intros i ms. rewrite accepted_choice. cbn.
    now rewrite (IHphi1 R1 i ms), (IHphi2 R2 i ms).
  - (* ; *) reflect. destruct reg as [R1 R2]. intros i ms.
    exact (rows_sequence evs true _ _ _ _ i ms (IHphi1 R1) (IHphi2 R2) (compile_well_formed _) (compile_well_formed _)).
  - (* : *) reflect. destruct reg as [R1 R2]. intros i ms.
    exact (rows_sequence evs false _ _ _ _ i ms (IHphi1 R1) (IHphi2 R2) (compile_well_formed _) (compile_well_formed _)).
  - (* + *) intros i ms. exact (rows_iterated evs true _ _ i ms (IHphi reg) (compile_well_formed _)).
  - (* :+ *) intros i ms. exact (rows_iterated evs false _ _ i ms (IHphi reg) (compile_well_formed _)).
  - (* projection *) eapply rows_relabelled; [|now apply IHphi]. reflexivity.
  - (* renaming *) eapply rows_relabelled; [|now apply IHphi]. reflexivity.
  - (* NOT *) intros i ms. rewrite accepted_single. cbn. split.
    + intros (j & t & E & T & V). injection V; intros; subst. exists t. repeat split; auto.
      apply empty_true. intros W HW. now apply (T W), evaluate_correct.
    + intros (t & E & T & ->). exists i, t. repeat split; auto. intros W HW.
      rewrite empty_true in T. now apply (T W), evaluate_correct.
Qed.

Theorem compile_linear {D} (phi : formula D) : length (states (compile phi)) <= 2 * size phi.
Proof.
  induction phi; cbn; rewrite ?app_length, ?map_length; try lia.
Qed.
